"""Rows that move by an offset; an edge of the image is narrower."""

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def moved(image, edge, turned):
    """(tiles, 64, W) gives (tiles, 64, W), or (tiles, W, 64) ``turned``: the columns of ``edge`` are not computed."""
    tiles, rows, width = image.shape
    shape = (tiles, width, rows) if turned else (tiles, rows, width)
    out = nl.ndarray(shape, dtype=image.dtype, buffer=nl.shared_hbm)
    i_row = nl.arange(rows)[:, None]
    i_column = nl.arange(width)[None, :]
    if edge > 0:
        i_column = nl.arange(width - edge)[None, :]
    for t in nl.affine_range(tiles):
        tile = nl.zeros((nl.par_dim(rows), width), dtype=image.dtype, buffer=nl.sbuf)
        tile[i_row, i_column + edge] = nl.load(image[t, i_row, i_column])
        tile[i_row, i_column + edge] = nl.multiply(tile[i_row, i_column + edge], 2.0)
        i_all = nl.arange(width)[None, :]
        nl.store(out[t, i_all, i_row] if turned else out[t, i_row, i_all], value=tile[i_row, i_all])
    return out
