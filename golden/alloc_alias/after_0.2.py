"""Row sums by a matrix product, with short names for the allocators."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def column_totals(x):
    """(B, P, F) gives (B, F, 1): each column of each block added up."""
    blocks, rows, columns = x.shape
    out = nl.ndarray((blocks, columns, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    ones = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf, address=(0, 0))
    nisa.memset(dst=ones, value=1.0)
    for b in nl.affine_range(blocks):
        tile = nl.ndarray(
            (rows, columns),
            dtype=nl.float32,
            buffer=nl.sbuf,
            address=(0, 32 + (b % 2) * (columns * 4)),
        )
        total = nl.ndarray(
            (columns, 1), dtype=nl.float32, buffer=nl.sbuf, address=(0, 4 + (b % 2) * 4)
        )
        summed = nl.ndarray(
            (columns, 1),
            dtype=nl.float32,
            buffer=nl.psum,
            address=(0, (5 + b % 2) * 2048),
        )
        nisa.dma_copy(dst=tile, src=x[b])
        nisa.nc_matmul(dst=summed, stationary=tile, moving=ones)
        nisa.tensor_copy(dst=total, src=summed)
        nisa.dma_copy(dst=out[b], src=total)
    return out
