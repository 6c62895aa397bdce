"""A vector in rows: input and output are reshaped under their own names, and the output gets its shape back."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def halved(x, width=16):
    """(N,) gives (N,): half of each element."""
    (count,) = x.shape
    out = nl.ndarray((count,), dtype=x.dtype, buffer=nl.shared_hbm)
    x = x.reshape((count // width, width))
    out = out.reshape((count // width, width))
    tile = nl.ndarray((count // width, width), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=0.5)
    nisa.dma_copy(dst=out, src=tile)
    out = out.reshape((count,))
    return out
