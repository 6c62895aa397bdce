"""A row spread over the partitions of a tile: by the method, by the function, and as an operand."""

import nki
import nki.language as nl
import nki.isa as nisa


def broadcast_rows(dst, src):
    """Copy the one row of ``src`` to every partition of ``dst``, 32 at a time."""
    for first in range(0, dst.shape[0], 32):
        rows = min(32, dst.shape[0] - first)
        nisa.nc_stream_shuffle(dst=dst[first : first + rows], src=src, shuffle_mask=[0] * 32)


@nki.jit
def scaled(x, weight):
    """(P, F) and (F,) gives (3, P, F): x * weight, x * weight + weight, and weight - x."""
    rows, columns = x.shape
    out = nl.ndarray((3, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    row = nl.load(weight.reshape((1, columns)))
    # the method
    spread = nl.ndarray((rows, columns), dtype=weight.dtype, buffer=nl.sbuf)
    broadcast_rows(dst=spread, src=row)
    assert x.dtype == weight.dtype, "rewritten for operands of one type"
    product = nl.multiply(tile, spread)
    nl.store(out[0], value=product)
    # the function
    wide = nl.ndarray((rows, columns), dtype=weight.dtype, buffer=nl.sbuf)
    broadcast_rows(dst=wide, src=row)
    nl.store(out[1], value=nl.add(product, wide))
    # an operand of one partition
    row_broadcast = nl.ndarray((rows, columns), dtype=weight.dtype, buffer=nl.sbuf)
    broadcast_rows(dst=row_broadcast, src=row)
    subtract_tile = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=subtract_tile, data1=row_broadcast, data2=tile, op=nl.subtract)
    nl.store(out[2], value=subtract_tile)
    return out


@nki.jit
def shifted(x, number):
    """(P, F) and (1, 1) gives (P, F): x + number, then times number."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    assert len(number.shape) == 2, "rewritten for 2 dimensions"
    one = nl.load(number[0:1, 0:1])
    one_broadcast = nl.ndarray((rows, columns), dtype=number.dtype, buffer=nl.sbuf)
    broadcast_rows(dst=one_broadcast, src=one.ap(pattern=[[1, 1], [0, columns]]))
    assert x.dtype == number.dtype, "rewritten for operands of one type"
    raised = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=raised, data1=tile, data2=one_broadcast, op=nl.add)
    one_broadcast_2 = nl.ndarray((rows, 1), dtype=number.dtype, buffer=nl.sbuf)
    broadcast_rows(dst=one_broadcast_2, src=one)
    multiply_tile = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=multiply_tile, data=raised, op0=nl.multiply, operand0=one_broadcast_2)
    nl.store(out, value=multiply_tile)
    return out
