"""Rows that a tile of indices names, in one part of a tensor, with a last tile that is not full."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def reversed_rows(x):
    """(B, N, F) gives (B, N, F): the rows of each x[b] from the last to the first."""
    parts, rows, columns = x.shape
    out = nl.ndarray((parts, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    tile_size = 64
    for b in nl.affine_range(parts):
        for t in nl.affine_range((rows + tile_size - 1) // tile_size):
            number = nl.ndarray((tile_size, 1), dtype=nl.int32, buffer=nl.sbuf)
            nisa.iota(
                dst=number, pattern=[[0, 1]], offset=rows - 1 - t * tile_size, channel_multiplier=-1
            )
            named = x.reshape((parts * rows, columns)).ap(
                pattern=[[columns, tile_size], [1, columns]],
                offset=rows * columns * b,
                vector_offset=number,
                indirect_dim=0,
            )
            i_p_size = min(tile_size, rows - t * tile_size)
            tile = nl.ndarray((tile_size, columns), dtype=x.dtype, buffer=nl.sbuf)
            nisa.dma_copy(
                dst=tile[0:i_p_size, :],
                src=x.reshape((parts * rows, columns)).ap(
                    pattern=[[columns, i_p_size], [1, columns]],
                    offset=rows * columns * b,
                    vector_offset=number[0:i_p_size, :],
                    indirect_dim=0,
                ),
            )
            nl.store(out[b, nl.ds(t * tile_size, i_p_size), :], value=tile[0:i_p_size, :])
    return out
