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
    tile = []
    for block in range(blocks):
        tile.append(
            nl.ndarray(
                (rows, columns),
                dtype=nl.float32,
                buffer=nl.sbuf,
                address=(0, 32 + (block % 2) * (columns * 4)),
            )
        )
    total = []
    for block in range(blocks):
        total.append(
            nl.ndarray(
                (columns, 1),
                dtype=nl.float32,
                buffer=nl.sbuf,
                address=(0, 4 + (block % 2) * 4),
            )
        )
    summed = []
    for block in range(blocks):
        summed.append(
            nl.ndarray(
                (columns, 1),
                dtype=nl.float32,
                buffer=nl.psum,
                address=(0, (5 + block % 2) * 2048),
            )
        )
    for b in nl.affine_range(blocks):
        nisa.dma_copy(dst=tile[b], src=x[b])
        nisa.nc_matmul(dst=summed[b], stationary=tile[b], moving=ones)
        nisa.tensor_copy(dst=total[b], src=summed[b])
        nisa.dma_copy(dst=out[b], src=total[b])
    return out
