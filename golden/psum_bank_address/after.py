"""A product in the PSUM bank that its address names."""

import nki
import nki.isa as nisa
import nki.language as nl

BANK_BYTES = 2048


@nki.jit
def product_in_bank(a, b, bank):
    """(K, M) and (K, N) give a.T @ b."""
    depth, m = a.shape
    n = b.shape[1]
    out = nl.ndarray((m, n), dtype=nl.float32, buffer=nl.shared_hbm)
    left = nl.ndarray((depth, m), dtype=a.dtype, buffer=nl.sbuf, address=(0, 512))
    right = nl.ndarray((depth, n), dtype=b.dtype, buffer=nl.sbuf, address=(0, 1024))
    kept = nl.ndarray((m, n), dtype=nl.float32, buffer=nl.sbuf, address=(0, 4096))
    product = nl.ndarray((m, n), dtype=nl.float32, buffer=nl.psum, address=(0, bank * BANK_BYTES))
    nisa.dma_copy(dst=left, src=a)
    nisa.dma_copy(dst=right, src=b)
    nisa.nc_matmul(dst=product, stationary=left, moving=right)
    nisa.tensor_copy(dst=kept, src=product)
    nisa.dma_copy(dst=out, src=kept)
    return out
