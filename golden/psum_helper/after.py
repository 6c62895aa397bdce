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
    everything = nl.ndarray((n, n), dtype=nl.float32, buffer=nl.psum)
    nisa.memset(dst=everything, value=0)
    for t in nl.sequential_range(tiles):
        left = nl.ndarray((depth, a.shape[2]), dtype=a.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=left, src=a[t])
        right = nl.ndarray(b.shape[1:], dtype=b.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=right, src=b[t])
        product = nl.ndarray((n, n), dtype=nl.float32, buffer=nl.psum)
        set_product(left, right, product)
        assert len(right.shape) == 2, "rewritten for 2 dimensions"
        add_product(right, left, product)
        copied_tile = nl.ndarray((n, n), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_copy(dst=copied_tile, src=product)
        nisa.dma_copy(dst=sums[t], src=copied_tile)
        add_product(left, right, everything)
    copied_tile_2 = nl.ndarray((n, n), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=copied_tile_2, src=everything)
    nisa.dma_copy(dst=total, src=copied_tile_2)
    return sums, total


@nki.jit
def doubled(a, b):
    """(K, N) twice: a.T @ b, and its transpose added to it."""
    depth, n = a.shape
    out = nl.ndarray((n, n), dtype=nl.float32, buffer=nl.shared_hbm)
    left = nl.ndarray((depth, n), dtype=a.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=left, src=a)
    assert len(b.shape) > 1, "rewritten for 2 dimensions at least"
    right = nl.ndarray(b.shape, dtype=b.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=right, src=b)
    product = nl.ndarray((n, n), dtype=nl.float32, buffer=nl.psum)
    nisa.memset(dst=product, value=0)
    add_twice(left, right, product)
    copied_tile = nl.ndarray((n, n), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=copied_tile, src=product)
    nisa.dma_copy(dst=out, src=copied_tile)
    return out
