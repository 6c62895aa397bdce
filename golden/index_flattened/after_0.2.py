"""Two index vectors that walk one dimension without a gap."""

import nki
import nki.language as nl
import nki.isa as nisa


@nki.jit
def groups_copied(x):
    """(P, 6 * 16), read as six groups of 16."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.dma_copy(
        dst=out.ap(pattern=[[columns, rows], [16, 6], [1, 16]]),
        src=tile.ap(pattern=[[columns, rows], [16, 6], [1, 16]]),
    )
    return out
