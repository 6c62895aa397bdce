"""Operands that Beta 2 wants written in another way."""

import nki
import nki.isa as nisa
import nki.language as nl
from nki.isa import oob_mode


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
def scaled(x, factor):
    """(R, C) and (R, 1) give (2, R, C): x times the column, and the column minus x."""
    rows, columns = x.shape
    out = nl.ndarray((2, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    column = nl.ndarray((rows, 1), dtype=factor.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=column, src=factor[0:rows, 0:1])
    tensor_tensor_tile = nl.ndarray(
        (rows, columns), dtype=promoted_dtype(x.dtype, factor.dtype), buffer=nl.sbuf
    )
    nisa.tensor_tensor(
        dst=tensor_tensor_tile,
        data1=tile,
        data2=column.ap(pattern=[[1, rows], [0, columns]]),
        op=nl.multiply,
    )
    nisa.dma_copy(dst=out[0], src=tensor_tensor_tile)
    tensor_tensor_tile_2 = nl.ndarray(
        (rows, columns), dtype=promoted_dtype(factor.dtype, x.dtype), buffer=nl.sbuf
    )
    nisa.tensor_tensor(
        dst=tensor_tensor_tile_2,
        data1=column.ap(pattern=[[1, rows], [0, columns]]),
        data2=tile,
        op=nl.subtract,
    )
    nisa.dma_copy(dst=out[1], src=tensor_tensor_tile_2)
    return out


@nki.jit
def planes(x, bias):
    """(R, H, W) and (R, N) give (N, R, H, W - 1): the image minus each column, and one minus it."""
    rows, high, wide = x.shape
    count = bias.shape[1]
    out = nl.ndarray((count, rows, high, wide - 1), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((rows, high, wide), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    assert len(bias.shape) == 2, "rewritten for 2 dimensions"
    columns = nl.ndarray((rows, count), dtype=bias.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=columns, src=bias[0:rows, 0:count])
    for n in nl.affine_range(count):
        i_w_size = min(wide, wide - 1)
        moved = nl.ndarray(
            (rows, high, wide), dtype=promoted_dtype(x.dtype, bias.dtype), buffer=nl.sbuf
        )
        if i_w_size > 0:
            nisa.tensor_tensor(
                dst=moved[0:rows, 0:high, 0:i_w_size],
                data1=tile[0:rows, 0:high, 0:i_w_size],
                data2=columns.ap(pattern=[[count, rows], [0, high], [0, i_w_size]], offset=n),
                op=nl.subtract,
            )
            nisa.dma_copy(dst=out[n, 0:rows, 0:high, 0:i_w_size], src=moved[0:rows, 0:high, 0:i_w_size])
    behind = nl.ndarray((rows, high, wide), dtype=promoted_dtype(bias.dtype, x.dtype), buffer=nl.sbuf)
    nisa.tensor_tensor(
        dst=behind,
        data1=columns.ap(pattern=[[count, rows], [0, high], [0, wide]]),
        data2=tile,
        op=nl.subtract,
    )
    nisa.dma_copy(dst=out[0], src=behind[:, :, 1:wide])
    return out


@nki.jit
def halves(x):
    """(R, C) in fp32 gives (R, 2 * C): the 16 low and the 16 high bits of every number."""
    rows, columns = x.shape
    out = nl.ndarray((rows, 2 * columns), dtype=nl.int16, buffer=nl.shared_hbm)
    tile = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    bits = tile.view(nl.int16)
    copy_tile = nl.ndarray((rows, columns * 2), dtype=nl.int16, buffer=nl.sbuf)
    nisa.tensor_copy(dst=copy_tile, src=bits)
    nisa.dma_copy(dst=out, src=copy_tile)
    return out


@nki.jit
def double_product(a, b):
    """(K, 2, M) and (K, 2, N) in fp8 give (M, N)."""
    depth, two, rows = a.shape
    columns = b.shape[2]
    out = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    left = nl.ndarray((depth, two, rows), dtype=a.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=left, src=a)
    right = nl.ndarray((depth, two, columns), dtype=b.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=right, src=b[0:depth, 0:two, 0:columns])
    total = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(
        dst=total, stationary=left, moving=right, perf_mode=nisa.matmul_perf_mode.double_row
    )
    copy_tile = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=copy_tile, src=total)
    nisa.dma_copy(dst=out, src=copy_tile)
    return out


@nki.jit
def picked(table, rows):
    """(N, F) and (P, 1) give (P, F): the named rows of a table, and zeros where it has no such row."""
    count = rows.shape[0]
    columns = table.shape[1]
    out = nl.ndarray((count, columns), dtype=table.dtype, buffer=nl.shared_hbm)
    assert len(rows.shape) == 2, "rewritten for 2 dimensions"
    index = nl.ndarray((count, 1), dtype=rows.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=index, src=rows[0:count, 0:1])
    tile = nl.ndarray((count, columns), dtype=table.dtype, buffer=nl.sbuf)
    nisa.memset(dst=tile, value=0)
    assert len(table.shape) == 2, "rewritten for 2 dimensions"
    nisa.dma_copy(
        dst=tile,
        src=table.ap(
            pattern=[[table.shape[1], count], [1, columns]], vector_offset=index, indirect_dim=0
        ),
        oob_mode=oob_mode.skip,
    )
    nisa.dma_copy(dst=out, src=tile)
    return out
