"""A kernel under the decorators that steer the old compiler."""

import nki
import nki.language as nl
import nki.isa as nisa


@nki.jit
def incremented(x):
    """(P, F) plus one."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    one_more = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=one_more, data=tile, op0=nl.add, operand0=1.0)
    nisa.dma_copy(dst=out, src=one_more)
    return out


@nki.jit
def decremented(x):
    """(P, F) minus one."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    one_less = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=one_less, data=tile, op0=nl.subtract, operand0=1.0)
    nisa.dma_copy(dst=out, src=one_less)
    return out
