"""A Python value that both branches of an if in a loop assign: undefined in Beta 1."""

import nki
import nki.language as nl
import nki.isa as nisa


@nki.jit
def chosen(x):
    """(T, P, F) times a factor that depends on the tile."""
    tiles, rows, columns = x.shape
    out = nl.ndarray((tiles, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    for t in nl.affine_range(tiles):
        if t == 0:
            factor = 1.0
        else:
            factor = 2.0
        tile = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[t])
        scaled = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=scaled, data=tile, op0=nl.multiply, operand0=factor)
        nisa.dma_copy(dst=out[t], src=scaled)
    return out
