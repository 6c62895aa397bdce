"""A tensor that is asked what no documentation told."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def copied(x):
    """(128, 64), once more if the tile is not a view."""
    out = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    if tile.is_identity():
        nisa.dma_copy(dst=out, src=tile)
    nisa.dma_copy(dst=out, src=tile)
    return out
