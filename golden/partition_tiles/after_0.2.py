"""Tiles of 32 partitions, stacked along the partitions."""

import nki
import nki.language as nl
import nki.isa as nisa


@nki.jit
def stacked_quarters(x):
    """(B, 32, F): a copy through quarters of SBUF."""
    blocks, rows, columns = x.shape
    out = nl.ndarray((blocks, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    # a block has a quarter of the partitions, and two tiles side by side in it
    quarter = []
    for b in range(blocks):
        quarter.append([])
        for block in range(2):
            quarter[b].append(
                nl.ndarray(
                    (rows, columns),
                    dtype=nl.float32,
                    buffer=nl.sbuf,
                    address=((b % 4) * rows, 64 + block * (columns * 4)),
                )
            )
    for b in nl.affine_range(blocks):
        nisa.dma_copy(dst=quarter[b][0], src=x[b])
        nisa.tensor_copy(dst=quarter[b][1], src=quarter[b][0])
        nisa.dma_copy(dst=out[b], src=quarter[b][1])
    return out
