"""Two index vectors that walk one dimension without a gap."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def groups_copied(x):
    """(P, 6 * 16), read as six groups of 16."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.dma_copy(dst=out[0:rows, 0:96], src=tile[0:rows, 0:96])
    return out
