"""A product of matrices with a long inner dimension, accumulated in PSUM."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def long_product(a, b):
    """(K, M) and (K, N) give (2, M, N): a.T @ b, and b reversed in its chunks of 128 rows."""
    depth, m = a.shape
    n = b.shape[1]
    chunks = depth // 128
    out = nl.ndarray((2, m, n), dtype=nl.float32, buffer=nl.shared_hbm)

    total = nl.ndarray((m, n), dtype=nl.float32, buffer=nl.psum)
    assert chunks > 0, "rewritten for loops that run"
    crossed = nl.ndarray((m, n), dtype=nl.float32, buffer=nl.psum)
    for k in nl.affine_range(chunks):
        left = nl.ndarray((128, m), dtype=a.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=left, src=a[k * 128 : (k + 1) * 128, 0:m])
        right = nl.ndarray((128, n), dtype=b.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=right, src=b[k * 128 : (k + 1) * 128, 0:n])
        other = nl.ndarray((128, n), dtype=b.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=other, src=b[(chunks - 1 - k) * 128 : (chunks - k) * 128, 0:n])
        nisa.nc_matmul(dst=total, stationary=left, moving=right)
        nisa.nc_matmul(dst=crossed, stationary=left, moving=other)
    summed = nl.ndarray((m, n), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=summed, src=total)
    nisa.dma_copy(dst=out[0], src=summed)
    swapped = nl.ndarray((m, n), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=swapped, data=crossed, op0=nl.multiply, operand0=0.5)
    nisa.dma_copy(dst=out[1], src=swapped)
    return out
