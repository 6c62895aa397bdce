"""A scale that is a number, or one number for each tile; a shift that may be absent."""

import nki
import nki.language as nl
import nki.isa as nisa


@nki.jit
def scaled(x, scale, shift=None):
    """(T, P, F): tile t times ``scale``, or ``scale[t]``, and plus ``shift`` where it is a number."""
    tiles, rows, columns = x.shape
    out = nl.ndarray((tiles, rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    if not (isinstance(scale, int) or isinstance(scale, float)):
        assert isinstance(scale, tuple) or isinstance(scale, list), "a list"
        assert len(scale) == tiles, "one scale for each tile"
    offset = shift if (isinstance(shift, int) or isinstance(shift, float)) else 0.0
    for t in nl.static_range(tiles):
        factor = scale if (isinstance(scale, int) or isinstance(scale, float)) else scale[t]
        x_tile = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=x_tile, src=x[t])
        tile = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=tile, data=x_tile, op0=nl.multiply, operand0=factor)
        add_tile = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=add_tile, data=tile, op0=nl.add, operand0=offset)
        nisa.dma_copy(dst=out[t], src=add_tile)
    return out
