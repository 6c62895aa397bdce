"""Helpers that write matmuls into PSUM tiles of their callers."""

import nki
import nki.isa as nisa
import nki.language as nl


def set_product(a, b, out):
    nisa.nc_matmul(dst=out, stationary=a, moving=b)


def add_product(a, b, out):
    nisa.nc_matmul(dst=out, stationary=a, moving=b)


def add_twice(a, b, out):
    assert len(b.shape) == 2, "rewritten for 2 dimensions"
    add_product(a, b, out)
    add_product(b, a, out)


@nki.jit
def symmetric(a, b):
    """(T, K, N) twice: each a[t].T @ b[t] plus its transpose, and the sum of a[t].T @ b[t] over all t."""
    tiles, depth, _ = a.shape
    n = b.shape[2]
    sums = nl.ndarray((tiles, n, n), dtype=nl.float32, buffer=nl.shared_hbm)
    total = nl.ndarray((n, n), dtype=nl.float32, buffer=nl.shared_hbm)
    everything = nl.zeros((n, n), dtype=nl.float32, buffer=nl.psum)
    for t in nl.sequential_range(tiles):
        left = nl.load(a[t])
        right = nl.load(b[t])
        product = nl.ndarray((n, n), dtype=nl.float32, buffer=nl.psum)
        set_product(left, right, product)
        assert len(right.shape) == 2, "rewritten for 2 dimensions"
        add_product(right, left, product)
        product_sbuf = nl.ndarray((n, n), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_copy(dst=product_sbuf, src=product)
        nl.store(sums[t], value=product_sbuf)
        add_product(left, right, everything)
    everything_sbuf = nl.ndarray((n, n), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=everything_sbuf, src=everything)
    nl.store(total, value=everything_sbuf)
    return sums, total


@nki.jit
def doubled(a, b):
    """(K, N) twice: a.T @ b, and its transpose added to it."""
    depth, n = a.shape
    out = nl.ndarray((n, n), dtype=nl.float32, buffer=nl.shared_hbm)
    left = nl.load(a)
    assert len(b.shape) > 1, "rewritten for 2 dimensions at least"
    right = nl.load(b)
    product = nl.zeros((n, n), dtype=nl.float32, buffer=nl.psum)
    add_twice(left, right, product)
    product_sbuf = nl.ndarray((n, n), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=product_sbuf, src=product)
    nl.store(out, value=product_sbuf)
    return out
