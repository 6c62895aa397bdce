"""Helpers that write matmuls into PSUM tiles of their callers."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


def set_product(a, b, out):
    out[...] = nisa.nc_matmul(a, b)


def add_product(a, b, out):
    out[...] += nisa.nc_matmul(a, b)


def add_twice(a, b, out):
    add_product(a, b, out)
    add_product(b, a, out)


@nki.jit
def symmetric(a, b):
    """(T, K, N) twice: each a[t].T @ b[t] plus its transpose, and the sum of a[t].T @ b[t] over all t."""
    tiles, depth, _ = a.shape
    n = b.shape[2]
    sums = nl.ndarray((tiles, n, n), dtype=nl.float32, buffer=nl.shared_hbm)
    total = nl.ndarray((n, n), dtype=nl.float32, buffer=nl.shared_hbm)
    product = nl.ndarray((nl.par_dim(n), n), dtype=nl.float32, buffer=nl.psum)
    everything = nl.zeros((nl.par_dim(n), n), dtype=nl.float32, buffer=nl.psum)
    for t in nl.sequential_range(tiles):
        left = nl.load(a[t])
        right = nl.load(b[t])
        set_product(left, right, product)
        add_product(right, left, product)
        nl.store(sums[t], value=product)
        add_product(left, right, everything)
    nl.store(total, value=everything)
    return sums, total


@nki.jit
def doubled(a, b):
    """(K, N) twice: a.T @ b, and its transpose added to it."""
    depth, n = a.shape
    out = nl.ndarray((n, n), dtype=nl.float32, buffer=nl.shared_hbm)
    left = nl.load(a)
    right = nl.load(b)
    product = nl.zeros((nl.par_dim(n), n), dtype=nl.float32, buffer=nl.psum)
    add_twice(left, right, product)
    nl.store(out, value=product)
    return out
