"""Rows that a tile of indices names, in one part of a tensor, with a last tile that is not full."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def reversed_rows(x):
    """(B, N, F) gives (B, N, F): the rows of each x[b] from the last to the first."""
    parts, rows, columns = x.shape
    out = nl.ndarray((parts, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    tile_size = 64
    for b in nl.affine_range(parts):
        for t in nl.affine_range((rows + tile_size - 1) // tile_size):
            i_p = nl.arange(tile_size)[:, None]
            i_f = nl.arange(columns)[None, :]
            place = t * tile_size + i_p
            number = nisa.iota(rows - 1 - place, dtype=nl.int32)
            named = x[b, number, i_f]
            tile = nl.load(named, mask=place < rows)
            nl.store(out[b, place, i_f], value=tile, mask=place < rows)
    return out
