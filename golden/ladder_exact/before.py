"""Copies of large integers, which went through float32."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def moved(x):
    """(P, F) int32, copied. Integers up to 2^24 come out as they are in every version."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((rows, columns), dtype=nl.int32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    kept = nl.copy(tile)
    nisa.dma_copy(dst=out, src=kept)
    return out
