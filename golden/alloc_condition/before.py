"""Products of a row of matrices; the banks are chosen by hand or by the compiler."""

import neuronxcc.nki as nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
from neuronxcc.nki.language import par_dim

BANKS = 4


@ncc.enable_stack_allocator
@ncc.skip_middle_end_transformations
@nki.jit
def row_of_products(a, b, by_hand=True):
    """(K, M) times (T, K, N) gives (T, M, N)."""
    depth, m = a.shape
    tiles, _, n = b.shape
    out = nl.ndarray((tiles, m, n), dtype=nl.float32, buffer=nl.shared_hbm)
    left = nl.ndarray((par_dim(depth), m), dtype=a.dtype, buffer=nl.sbuf)
    left[...] = nl.load(a)
    banks = nl.psum if not by_hand else ncc.psum.mod_alloc(base_bank=1, num_bank_tiles=(BANKS, ))
    product = nl.zeros((tiles, par_dim(m), n), dtype=nl.float32, buffer=banks)
    for t in nl.affine_range(tiles):
        right = nl.load(b[t])
        product[t] += nisa.nc_matmul(left, right)
        kept = nl.ndarray((par_dim(m), n), dtype=nl.float32, buffer=nl.sbuf)
        kept[...] = nisa.tensor_copy(product[t])
        nl.store(out[t], value=kept)
    return out
