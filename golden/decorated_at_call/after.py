"""A function that is a kernel of its own and a part of another one: decorated where it is launched."""

import nki
import nki.isa as nisa
import nki.language as nl


def tripled(x):
    """(P, F) times three."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=3.0)
    nisa.dma_copy(dst=out, src=tile)
    return out


@nki.jit
def both(x, y):
    return tripled(x), tripled(y)


alone = nki.jit(tripled)
