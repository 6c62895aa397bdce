"""Row sums of a tensor whose last tile is not full."""

import math

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def row_sums(x):
    """(M, N) gives (M, 1). Missing rows are zero in SBUF, and are not stored."""
    m, n = x.shape
    pmax = nl.tile_size.pmax
    out = nl.ndarray((m, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    for r in nl.affine_range(math.ceil(m / pmax)):
        tile = nl.ndarray((pmax, n), dtype=x.dtype, buffer=nl.sbuf)
        nisa.memset(dst=tile, value=0)
        i_p_size = min(pmax, m - r * pmax)
        nisa.dma_copy(dst=tile[0:i_p_size, :], src=x[nl.ds(r * pmax, i_p_size), :])
        total = nl.ndarray((pmax, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=total, op=nl.add, data=tile, axis=1)
        nl.store(out[nl.ds(r * pmax, i_p_size), :], value=total[0:i_p_size, :])
    return out
