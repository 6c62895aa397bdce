"""A DMA that converts between types, which 0.2 let the hardware's descriptors do."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def product(lhs, rhs):
    """(K, M) bfloat16 and (K, N) float32 give (M, N) float32."""
    depth, rows = lhs.shape
    columns = rhs.shape[1]
    half = nl.ndarray((depth, rows), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.dma_copy(dst=half, src=lhs)
    left = nl.ndarray((depth, rows), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=left, src=half, dge_mode=nisa.dge_mode.swdge)
    right = nl.ndarray((depth, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=right, src=rhs, dge_mode=nisa.dge_mode.hwdge)
    acc = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=acc, stationary=left, moving=right)
    out = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    result = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=result, src=acc)
    nisa.dma_copy(dst=out, src=result)
    return out
