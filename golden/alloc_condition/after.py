"""Products of a row of matrices; the banks are chosen by hand or by the compiler."""

import nki
import nki.isa as nisa
import nki.language as nl

BANKS = 4


@nki.jit
def row_of_products(a, b, by_hand=True):
    """(K, M) times (T, K, N) gives (T, M, N)."""
    depth, m = a.shape
    tiles, _, n = b.shape
    out = nl.ndarray((tiles, m, n), dtype=nl.float32, buffer=nl.shared_hbm)
    left = nl.ndarray((depth, m), dtype=a.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=left, src=a)
    for t in nl.affine_range(tiles):
        product = nl.ndarray(
            (m, n),
            dtype=nl.float32,
            buffer=nl.psum,
            address=(0, (1 + t % BANKS) * 2048) if by_hand else None,
        )
        right = nl.ndarray((b.shape[1], n), dtype=b.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=right, src=b[t])
        nisa.nc_matmul(dst=product, stationary=left, moving=right)
        kept = nl.ndarray((m, n), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_copy(dst=kept, src=product)
        nisa.dma_copy(dst=out[t], src=kept)
    return out
