"""Scaled products: one over the root of a matrix product."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def scales(a, b):
    """(K, M) and (K, N) give (M, N): one over the root of the product."""
    depth, rows = a.shape
    _, columns = b.shape
    out = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    left = nl.ndarray((depth, rows), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=left, src=a)
    right = nl.ndarray((depth, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=right, src=b)
    product = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=product, stationary=left, moving=right)
    scale = nl.rsqrt(product)
    folded = scale.reshape((rows, 1, columns))
    nisa.dma_copy(dst=out, src=folded)
    return out
