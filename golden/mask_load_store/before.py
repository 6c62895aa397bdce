"""Row sums of a tensor whose last tile is not full."""

import math

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
from neuronxcc.nki.language import par_dim


@nki.jit
def row_sums(x):
    """(M, N) gives (M, 1). Missing rows are zero in SBUF, and are not stored."""
    m, n = x.shape
    pmax = nl.tile_size.pmax
    out = nl.ndarray((m, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    for r in nl.affine_range(math.ceil(m / pmax)):
        i_p, i_f = nl.mgrid[0:pmax, 0:n]
        tile = nl.ndarray((par_dim(pmax), n), dtype=x.dtype, buffer=nl.sbuf)
        tile[...] = 0.0
        tile[i_p, i_f] = nl.load(x[r * pmax + i_p, i_f], mask=(r * pmax + i_p < m))
        total = nisa.tensor_reduce(nl.add, data=tile, axis=1, dtype=nl.float32)
        i_r, i_1 = nl.arange(pmax)[:, None], nl.arange(1)[None, :]
        nl.store(out[r * pmax + i_r, i_1], value=total, mask=(r * pmax + i_r < m))
    return out
