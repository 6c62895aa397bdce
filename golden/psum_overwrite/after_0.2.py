"""Products that reuse one PSUM tile: each pass starts anew."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def doubled_products(a, b):
    """(T, K, M) and (T, K, N) give (T, M, N): twice a[t].T @ b[t]."""
    tiles, depth, m = a.shape
    n = b.shape[2]
    out = nl.ndarray((tiles, m, n), dtype=nl.float32, buffer=nl.shared_hbm)
    for t in nl.sequential_range(tiles):
        left = nl.ndarray((depth, m), dtype=a.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=left, src=a[t])
        right = nl.ndarray(b.shape[1:], dtype=b.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=right, src=b[t])
        product = nl.ndarray((m, n), dtype=nl.float32, buffer=nl.psum)
        nisa.nc_matmul(dst=product, stationary=left, moving=right)
        nisa.nc_matmul(dst=product, stationary=left, moving=right)
        kept = nl.ndarray((m, n), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_copy(dst=kept, src=product)
        nisa.dma_copy(dst=out[t], src=kept)
    return out
