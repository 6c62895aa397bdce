"""Rows that move by an offset; an edge of the image is narrower."""

import nki
import nki.language as nl
import nki.isa as nisa


@nki.jit
def moved(image, edge, turned):
    """(tiles, 64, W) gives (tiles, 64, W), or (tiles, W, 64) ``turned``: the columns of ``edge`` are not computed."""
    tiles, rows, width = image.shape
    shape = (tiles, width, rows) if turned else (tiles, rows, width)
    out = nl.ndarray(shape, dtype=image.dtype, buffer=nl.shared_hbm)
    i_column_size = width
    if edge > 0:
        i_column_size = width - edge
    for t in nl.affine_range(tiles):
        tile = nl.zeros((rows, width), dtype=image.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile[:, nl.ds(edge, i_column_size)], src=image[t, :, 0:i_column_size])
        nisa.tensor_scalar(
            dst=tile[:, nl.ds(edge, i_column_size)],
            data=tile[:, nl.ds(edge, i_column_size)],
            op0=nl.multiply,
            operand0=2.0,
        )
        if turned:
            assert len(out.shape) == 3, "rewritten for 3 dimensions"
            nl.store(
                out.ap(pattern=[[1, rows], [out.shape[2], width]], offset=out.shape[1] * out.shape[2] * t), value=tile
            )
        if not turned:
            nl.store(out[t, 0:rows, 0:width], value=tile)
    return out
