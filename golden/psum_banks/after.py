"""A row of matrix products on a ring of PSUM banks."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def row_of_products(a, b):
    """(K, M) and (T, K, N) give (T, M, N): out[t] = a.T @ b[t]."""
    depth, m = a.shape
    tiles, _, n = b.shape
    out = nl.ndarray((tiles, m, n), dtype=nl.float32, buffer=nl.shared_hbm)
    left = nl.ndarray((depth, m), dtype=a.dtype, buffer=nl.sbuf, address=(0, 0))
    nisa.dma_copy(dst=left, src=a)
    for t in nl.affine_range(tiles):
        right = nl.ndarray(
            (depth, n), dtype=nl.float32, buffer=nl.sbuf, address=(0, m * 4 + (t % 2) * (n * 4))
        )
        kept = nl.ndarray(
            (m, n),
            dtype=nl.float32,
            buffer=nl.sbuf,
            address=(0, (m + 2 * n) * 4 + (t % 2) * (n * 4)),
        )
        product = nl.ndarray(
            (m, n), dtype=nl.float32, buffer=nl.psum, address=(0, (2 + t % 4) * 2048)
        )
        nisa.dma_copy(dst=right, src=b[t])
        nisa.nc_matmul(dst=product, stationary=left, moving=right)
        nisa.tensor_copy(dst=kept, src=product)
        nl.store(out[t], value=kept)
    return out
