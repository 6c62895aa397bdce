"""A row spread over all partitions."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def weighted(x, weights):
    """(P, F) times a row (1, F)."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    row = nl.ndarray(weights.shape, dtype=weights.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=row, src=weights)
    spread = nl.ndarray((rows, columns), dtype=weights.dtype, buffer=nl.sbuf)
    for quarter in range(rows // 32):
        nisa.nc_stream_shuffle(dst=spread[nl.ds(quarter * 32, 32), 0:columns], src=row, shuffle_mask=[0] * 32)
    result = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=result, data1=tile, data2=spread, op=nl.multiply)
    nisa.dma_copy(dst=out, src=result)
    return out
