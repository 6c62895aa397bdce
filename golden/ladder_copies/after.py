"""Tiles that DMAs add up, in two ways."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def summed(x):
    """(T, P, F) bfloat16 gives (P, F): the sum of all tiles, and of the first two twice."""
    tiles, rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    total = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    for t in nl.affine_range(tiles):
        wide = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=wide, src=x[t], dge_mode=nisa.dge_mode.swdge)
        if t == 0:
            nisa.dma_copy(
                dst=total,
                src=wide,
            )
        else:
            nisa.dma_compute(
                dst=total, srcs=[wide, total], reduce_op=nl.add, unique_indices=True
            )
    kept = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=kept, src=total)
    for t in range(2):
        narrow = nl.ndarray((rows, columns), dtype=nl.bfloat16, buffer=nl.sbuf)
        nisa.dma_copy(dst=narrow, src=x[t], dge_mode=nisa.dge_mode.swdge)
        wide = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=wide, src=narrow, dge_mode=nisa.dge_mode.swdge)
        nisa.dma_compute(dst=kept, srcs=[wide, kept], reduce_op=nl.add)
    nisa.dma_copy(dst=out, src=kept)
    return out
