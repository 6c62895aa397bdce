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
    right = []
    for block in range(tiles):
        right.append(
            nl.ndarray(
                (depth, n),
                dtype=nl.float32,
                buffer=nl.sbuf,
                address=(0, m * 4 + (block % 2) * (n * 4)),
            )
        )
    kept = []
    for block in range(tiles):
        kept.append(
            nl.ndarray(
                (m, n),
                dtype=nl.float32,
                buffer=nl.sbuf,
                address=(0, (m + 2 * n) * 4 + (block % 2) * (n * 4)),
            )
        )
    product = []
    for block in range(tiles):
        product.append(
            nl.ndarray(
                (m, n), dtype=nl.float32, buffer=nl.psum, address=(0, (2 + block % 4) * 2048)
            )
        )
    for t in nl.affine_range(tiles):
        nisa.dma_copy(dst=right[t], src=b[t])
        nisa.nc_matmul(dst=product[t], stationary=left, moving=right[t])
        nisa.tensor_copy(dst=kept[t], src=product[t])
        nisa.dma_copy(dst=out[t], src=kept[t])
    return out
