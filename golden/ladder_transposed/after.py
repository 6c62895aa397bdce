"""A matrix in four dimensions, transposed by DMA."""

import nki
import nki.isa as nisa
import nki.language as nl


LIMIT = nl.tile_size.sbuf_fmax_bytes


@nki.jit
def turned(x):
    """(A, 1, 1, B) bfloat16 gives (B, A)."""
    rows, _, _, columns = x.shape
    assert rows * 2 <= nl.tile_size.sbuf_fmax_bytes
    out = nl.ndarray((columns, rows), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((columns, rows), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.dma_transpose(
        dst=tile.reshape((columns, 1, 1, rows)), src=x, axes=(3, 1, 2, 0)
    )
    nisa.dma_copy(dst=out, src=tile)
    return out
