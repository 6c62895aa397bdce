"""A kernel that defines one of two functions under one name, and calls it."""

import nki
import nki.isa as nisa
import nki.language as nl


def shift(number):
    return number + 3


def shift_2(number):
    return number


@nki.jit
def shifted(x):
    """(P, F) plus 1, or plus 4 where it is wider than 32."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    number = shift(1) if columns > 32 else shift_2(1)
    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.add, operand0=float(number))
    nisa.dma_copy(dst=out, src=tile)
    return out
