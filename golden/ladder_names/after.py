"""A tile under another shape, and random bits by an engine that was left open."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def folded(x):
    """(P, 4, F) gives (P, 4 F), with each element but those of the first quarter doubled."""
    rows, groups, columns = x.shape
    out = nl.ndarray((rows, groups * columns), dtype=x.dtype, buffer=nl.shared_hbm)
    cube = nl.ndarray((rows, groups, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=cube, src=x)
    flat = cube.reshape(shape=(rows, groups * columns))
    rest = flat[:, columns : groups * columns]
    nisa.tensor_scalar(dst=rest, data=rest, op0=nl.multiply, operand0=2.0)
    bits = nl.ndarray((rows, columns), dtype=nl.uint32, buffer=nl.sbuf)
    nisa.rng(dst=bits, engine=nisa.engine.unknown)
    nisa.dma_copy(dst=out, src=flat)
    return out
