"""Values that a condition of Python chooses in an expression."""

import nki
import nki.isa as nisa
import nki.language as nl


def activated(tile, kind):
    """One of three functions of (P, F)."""
    if kind == "relu":
        maximum_tile = nl.ndarray(tile.shape, dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=maximum_tile, data=tile, op0=nl.maximum, operand0=0.0)
        return maximum_tile
    elif kind == "exp":
        tile_exp = nl.ndarray(tile.shape, dtype=tile.dtype, buffer=nl.sbuf)
        nisa.activation(dst=tile_exp, op=nl.exp, data=tile)
        return tile_exp
    else:
        return tile


@nki.jit
def scaled(x, bias=None, scale=None, kind="none", squares=False):
    """(P, F) and (P, 1) give (P, F): scale * (x + bias), then a function; squares of all but the first half of that."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    # one number a partition
    if bias is not None:
        column = nl.ndarray((rows, 1), dtype=bias.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=column, src=bias[0:rows, 0:1])
    else:
        column = None
    if column is not None:
        total = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=total, data=tile, op0=nl.add, operand0=column)
    else:
        total = tile
    if scale is not None:
        total_scaled = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=total_scaled, data=total, op0=nl.multiply, operand0=scale)
        total = total_scaled
    result = activated(total, kind)
    wide = columns if squares else 1
    half = wide // 2 if wide > 2 else wide
    if squares:
        result_square = nl.ndarray(result.shape, dtype=result.dtype, buffer=nl.sbuf)
        nisa.activation(dst=result_square, op=nl.square, data=result)
        nisa.dma_copy(dst=out, src=result_square)
    else:
        nisa.dma_copy(dst=out, src=result)
    nisa.dma_copy(dst=out[:, 0:half], src=result[0:rows, 0:half])
    return out
