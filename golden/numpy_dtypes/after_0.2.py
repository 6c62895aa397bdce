"""Data types written with numpy."""

import numpy as np
import nki
import nki.isa as nisa
import nki.language as nl

WORK = nl.float32
COUNTS = nl.int32
EIGHTHS = float(np.float32(8.0))
LOWEST = float(np.finfo(np.float32).min / 2)


@nki.jit
def rounded(x, kept=nl.float16):
    """(P, F) through float16 and int32."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=WORK, buffer=nl.shared_hbm)
    counts = nl.ndarray((rows, columns), dtype=nl.int32, buffer=nl.shared_hbm)
    tile = nl.ndarray((rows, columns), dtype=nl.float16, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    wide = nl.ndarray((rows, columns), dtype=WORK, buffer=nl.sbuf)
    nisa.tensor_copy(dst=wide, src=tile)
    nisa.dma_copy(dst=out, src=wide)
    whole = nl.ndarray((rows, columns), dtype=COUNTS, buffer=nl.sbuf)
    nisa.tensor_scalar(
        dst=whole, data=wide, op0=nl.multiply, operand0=EIGHTHS, op1=nl.maximum, operand1=LOWEST
    )
    nisa.dma_copy(dst=counts, src=whole)
    return out, counts
