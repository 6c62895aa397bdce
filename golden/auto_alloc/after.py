"""Buffers whose addresses the compiler chooses, in both spellings."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def gram(x):
    """(K, M) gives x.T @ x."""
    depth, m = x.shape
    out = nl.ndarray((m, m), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.ndarray((depth, m), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    product = nl.ndarray((m, m), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=product, stationary=tile, moving=tile)
    kept = nl.ndarray((m, m), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=kept, src=product)
    nl.store(out, value=kept)
    return out
