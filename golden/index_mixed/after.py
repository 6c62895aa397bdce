"""Indices of different makes on one tensor."""

import nki
import nki.isa as nisa
import nki.language as nl

TILE = 64


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
def shifted_rows(x, shift):
    """(N, R, C) gives (N, R, C): every row moved up by ``shift``, the last ones kept."""
    planes, rows, columns = x.shape
    out = nl.ndarray((planes, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    shape_2d = (rows, columns)
    tile = nl.load(x[:, 0 : shape_2d[0], 0 : shape_2d[1]])
    nl.store(out[:, 0 : shape_2d[0], 0 : shape_2d[1]], value=tile)
    # the rows of one grid, the columns of another
    nl.store(out[:, 0 : rows - shift, :], value=tile[:, nl.ds(shift, rows - shift), 0:columns])
    return out


@nki.jit
def weighted(x, weights):
    """(B, R, C) and (R, B) gives (B, R, C): x[b] times column b of the weights, row by row."""
    batches = weights.shape[1]
    rows = weights.shape[0]
    columns = 24
    out = nl.ndarray((batches, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    assert x.dtype == weights.dtype, "rewritten for operands of one type"
    for b in nl.affine_range(batches):
        for i in nl.affine_range((rows + TILE - 1) // TILE):
            i_p_size = min(TILE, rows - i * TILE)
            tile = nl.ndarray((TILE, columns), dtype=x.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=tile[0:i_p_size, :], src=x[b, nl.ds(i * TILE, i_p_size), 0:columns])
            factor = nl.ndarray((TILE, 1), dtype=weights.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=factor[0:i_p_size, :], src=weights[nl.ds(i * TILE, i_p_size), b : b + 1])
            product = nl.ndarray((TILE, columns), dtype=x.dtype, buffer=nl.sbuf)
            nisa.tensor_scalar(
                dst=product[0:i_p_size, :],
                data=tile[0:i_p_size, :],
                op0=nl.multiply,
                operand0=factor[0:i_p_size, :],
            )
            nl.store(out[b, nl.ds(i * TILE, i_p_size), :], value=product[0:i_p_size, :])
    return out


@nki.jit
def selected(x, column):
    """(R, C) and one number give (R, 1): a column, by its number."""
    rows, columns = x.shape
    out = nl.ndarray((rows, 1), dtype=x.dtype, buffer=nl.shared_hbm)
    assert len(column.shape) == 1, "rewritten for 1 dimensions"
    number = nl.ndarray((1, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=number, src=column[0])
    tile = nl.load(x)
    positions = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.iota(dst=positions, pattern=[[1, columns]], offset=0, channel_multiplier=0)
    number_broadcast = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    broadcast_rows(dst=number_broadcast, src=number.ap(pattern=[[1, 1], [0, columns]]))
    hit = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=hit, data1=positions, data2=number_broadcast, op=nl.equal)
    nl.store(out, value=nl.sum(nl.multiply(tile, hit), axis=1, keepdims=True))
    return out


@nki.jit
def unzipped(x, in_pairs):
    """(2 * R, C) gives (2, R, C): the first and the second half of the rows, or of every pair of rows."""
    rows = x.shape[0] // 2
    columns = x.shape[1]
    out = nl.ndarray((2, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    assert len(x.shape) == 2, "rewritten for 2 dimensions"
    nl.store(
        out[0, :, :],
        value=nl.load(x.ap(pattern=[[x.shape[1] * (2 if in_pairs else 1), rows], [1, columns]])),
    )
    nl.store(
        out[1, :, :],
        value=nl.load(
            x.ap(
                pattern=[[x.shape[1] * (2 if in_pairs else 1), rows], [1, columns]],
                offset=x.shape[1] * (1 if in_pairs else rows),
            )
        ),
    )
    return out


@nki.jit
def doubled(x):
    """(R, C) gives (R, C): twice the numbers, in a tile of the tensor's shape."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    assert len(x.shape) == 2, "rewritten for 2 dimensions"
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nl.store(out, value=nl.add(tile, tile))
    return out


@nki.jit
def quarters(x):
    """(R, C) gives (R, C): the four quarters of the columns, each times its number."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    width = columns // 4
    for q in nl.affine_range(4):
        scaled = nl.ndarray(
            (rows, width),
            dtype=promoted_dtype(x.dtype, (nl.float32 if isinstance(q, float) else nl.int32)),
            buffer=nl.sbuf,
        )
        nisa.tensor_scalar(dst=scaled, data=tile[:, nl.ds(q * width, width)], op0=nl.multiply, operand0=q)
        nl.store(out[:, nl.ds(q * width, width)], value=scaled)
    return out
