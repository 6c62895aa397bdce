"""A kernel of the first style: it writes to a tensor that it gets, and returns nothing."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def doubled(x, out):
    """Twice (P, F), as a tensor like ``out``."""
    result = nl.ndarray(out.shape, dtype=out.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    twice = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=twice, data=tile, op0=nl.multiply, operand0=2.0)
    nisa.dma_copy(dst=result, src=twice)
    return result
