"""Products of all pairs of two lists of matrices, each in the PSUM bank that a table gives it."""

import functools

import neuronxcc.nki as nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
from neuronxcc.nki.language import par_dim


@nki.jit
def pair_products(a, b):
    """(2, K, M) and (2, K, N) give (2, 2, M, N): out[i, j] = a[i].T @ b[j]."""
    _, depth, m = a.shape
    _, _, n = b.shape
    out = nl.ndarray((2, 2, m, n), dtype=nl.float32, buffer=nl.shared_hbm)

    def bank_of(bank_map, idx, pdim_size, fdim_size):
        return (bank_map[idx], 0, 0)

    left = nl.ndarray((2, par_dim(depth), m), dtype=nl.float32,
                      buffer=ncc.sbuf.mod_alloc(base_addr=0, num_free_tiles=(2,)))
    right = nl.ndarray((2, par_dim(depth), n), dtype=nl.float32,
                       buffer=ncc.sbuf.mod_alloc(base_addr=2 * m * 4, num_free_tiles=(2,)))
    copied = nl.ndarray((par_dim(m), n), dtype=nl.float32, buffer=ncc.sbuf.mod_alloc(base_addr=2 * (m + n) * 4))
    product = nl.ndarray((2, 2, par_dim(m), n), dtype=nl.float32, buffer=ncc.psum.alloc(
        functools.partial(bank_of, bank_map={(0, 0): 1, (0, 1): 6, (1, 0): 3, (1, 1): 4})))

    for i in nl.affine_range(2):
        left[i] = nl.load(a[i])
        right[i] = nl.load(b[i])
    for i in nl.affine_range(2):
        for j in nl.affine_range(2):
            product[i, j] = nisa.nc_matmul(left[i], right[j])
    for i in nl.affine_range(2):
        for j in nl.affine_range(2):
            copied[...] = nl.copy(product[i, j])
            nl.store(out[i, j], value=copied)
    return out
