"""A row of matrix products on a ring of PSUM banks."""

import neuronxcc.nki as nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
from neuronxcc.nki.language import par_dim


@nki.jit
def row_of_products(a, b):
    """(K, M) and (T, K, N) give (T, M, N): out[t] = a.T @ b[t]."""
    depth, m = a.shape
    tiles, _, n = b.shape
    out = nl.ndarray((tiles, m, n), dtype=nl.float32, buffer=nl.shared_hbm)
    left = nl.ndarray((par_dim(depth), m), dtype=a.dtype, buffer=ncc.sbuf.mod_alloc(base_addr=0))
    left[...] = nl.load(a)
    right = nl.ndarray((tiles, par_dim(depth), n), dtype=nl.float32,
                       buffer=ncc.sbuf.mod_alloc(base_addr=m * 4, num_free_tiles=(2,)))
    kept = nl.ndarray((tiles, par_dim(m), n), dtype=nl.float32,
                      buffer=ncc.sbuf.mod_alloc(base_addr=(m + 2 * n) * 4, num_free_tiles=(2,)))
    product = nl.ndarray((tiles, par_dim(m), n), dtype=nl.float32,
                         buffer=ncc.psum.mod_alloc(base_bank=2, num_bank_tiles=(4,)))
    for t in nl.affine_range(tiles):
        right[t] = nl.load(b[t])
        product[t] = nisa.nc_matmul(left, right[t])
        kept[t] = nisa.tensor_copy(product[t])
        nl.store(out[t], value=kept[t])
    return out
