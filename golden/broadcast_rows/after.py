"""A row spread over the partitions of a tile: by the method, by the function, and as an operand."""

import nki
import nki.language as nl
import nki.isa as nisa


def broadcast_rows(dst, src):
    """Copy the one row of ``src`` to every partition of ``dst``, 32 at a time."""
    for first in range(0, dst.shape[0], 32):
        rows = min(32, dst.shape[0] - first)
        nisa.nc_stream_shuffle(dst=dst[first : first + rows], src=src, shuffle_mask=[0] * 32)


def itemsize(dtype):
    """Bytes of one element of a data type."""
    name = str(dtype)
    if name == str(nl.float32) or name == str(nl.int32) or name == str(nl.uint32):
        return 4
    if name == str(nl.bfloat16) or name == str(nl.float16) or name == str(nl.int16) or name == str(nl.uint16):
        return 2
    if name == str(nl.int8) or name == str(nl.uint8) or name == str(nl.bool_):
        return 1
    if name == str(nl.float8_e4m3) or name == str(nl.float8_e5m2):
        return 1
    assert False, "itemsize: unknown data type"


def promoted_dtype(a, b):
    """The data type of an operation on two data types, as NKI Beta 1 chose it."""
    x = str(a)
    y = str(b)
    if x == y:
        return a
    if x == str(nl.float32) or y == str(nl.float32):
        return nl.float32
    if x == str(nl.tfloat32) or y == str(nl.tfloat32):
        return nl.tfloat32
    half_a = x == str(nl.bfloat16) or x == str(nl.float16)
    half_b = y == str(nl.bfloat16) or y == str(nl.float16)
    if half_a and half_b:
        return nl.float32
    if half_a or half_b:
        return a if half_a else b
    quarter_a = x == str(nl.float8_e4m3) or x == str(nl.float8_e5m2)
    quarter_b = y == str(nl.float8_e4m3) or y == str(nl.float8_e5m2)
    if quarter_a and quarter_b:
        return nl.bfloat16
    if quarter_a or quarter_b:
        return a if quarter_a else b
    signed_a = x == str(nl.int8) or x == str(nl.int16) or x == str(nl.int32)
    signed_b = y == str(nl.int8) or y == str(nl.int16) or y == str(nl.int32)
    bytes_a = itemsize(a)
    bytes_b = itemsize(b)
    if signed_a == signed_b:
        return a if bytes_a > bytes_b or y == str(nl.bool_) else b
    signed = bytes_a if signed_a else bytes_b
    unsigned = bytes_b if signed_a else bytes_a
    needed = signed if signed > unsigned else 2 * unsigned
    if needed == 2:
        return nl.int16
    return nl.int32 if needed == 4 else nl.float32


@nki.jit
def scaled(x, weight):
    """(P, F) and (F,) gives (3, P, F): x * weight, x * weight + weight, and weight - x."""
    rows, columns = x.shape
    out = nl.ndarray((3, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    row = nl.ndarray((1, columns), dtype=weight.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=row, src=weight.reshape((1, columns)))
    # the method
    spread = nl.ndarray((rows, columns), dtype=weight.dtype, buffer=nl.sbuf)
    broadcast_rows(dst=spread, src=row)
    product = nl.ndarray(
        (rows, columns), dtype=promoted_dtype(x.dtype, weight.dtype), buffer=nl.sbuf
    )
    nisa.tensor_tensor(dst=product, data1=tile, data2=spread, op=nl.multiply)
    nisa.dma_copy(dst=out[0], src=product)
    # the function
    wide = nl.ndarray((rows, columns), dtype=weight.dtype, buffer=nl.sbuf)
    broadcast_rows(dst=wide, src=row)
    sum_tile = nl.ndarray(
        (rows, columns), dtype=promoted_dtype(product.dtype, weight.dtype), buffer=nl.sbuf
    )
    nisa.tensor_tensor(dst=sum_tile, data1=product, data2=wide, op=nl.add)
    nisa.dma_copy(dst=out[1], src=sum_tile)
    # an operand of one partition
    spread_tile = nl.ndarray((rows, columns), dtype=weight.dtype, buffer=nl.sbuf)
    broadcast_rows(dst=spread_tile, src=row)
    subtract_tile = nl.ndarray(
        (rows, columns), dtype=promoted_dtype(weight.dtype, x.dtype), buffer=nl.sbuf
    )
    nisa.tensor_tensor(dst=subtract_tile, data1=spread_tile, data2=tile, op=nl.subtract)
    nisa.dma_copy(dst=out[2], src=subtract_tile)
    return out


@nki.jit
def shifted(x, number):
    """(P, F) and (1, 1) gives (P, F): x + number, then times number."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    assert len(number.shape) == 2, "rewritten for 2 dimensions"
    one = nl.ndarray((1, 1), dtype=number.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=one, src=number[0:1, 0:1])
    tile_2 = nl.ndarray((rows, columns), dtype=number.dtype, buffer=nl.sbuf)
    broadcast_rows(dst=tile_2, src=one.ap(pattern=[[1, 1], [0, columns]]))
    raised = nl.ndarray(
        (rows, columns), dtype=promoted_dtype(x.dtype, number.dtype), buffer=nl.sbuf
    )
    nisa.tensor_tensor(dst=raised, data1=tile, data2=tile_2, op=nl.add)
    spread_tile = nl.ndarray((rows, 1), dtype=number.dtype, buffer=nl.sbuf)
    broadcast_rows(dst=spread_tile, src=one)
    multiply_tile = nl.ndarray(
        (rows, columns), dtype=promoted_dtype(raised.dtype, number.dtype), buffer=nl.sbuf
    )
    nisa.tensor_scalar(dst=multiply_tile, data=raised, op0=nl.multiply, operand0=spread_tile)
    nisa.dma_copy(dst=out, src=multiply_tile)
    return out
