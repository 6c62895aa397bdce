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


@nki.jit
def shifted_rows(x, shift):
    """(N, R, C) gives (N, R, C): every row moved up by ``shift``, the last ones kept."""
    planes, rows, columns = x.shape
    out = nl.ndarray((planes, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    shape_2d = (rows, columns)
    tile = nl.ndarray((planes, shape_2d[0], shape_2d[1]), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x[:, 0 : shape_2d[0], 0 : shape_2d[1]])
    nisa.dma_copy(dst=out[:, 0 : shape_2d[0], 0 : shape_2d[1]], src=tile)
    # the rows of one grid, the columns of another
    nisa.dma_copy(dst=out[:, 0 : rows - shift, :], src=tile[:, nl.ds(shift, rows - shift), 0:columns])
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
            nisa.dma_copy(dst=out[b, nl.ds(i * TILE, i_p_size), :], src=product[0:i_p_size, :])
    return out


@nki.jit
def selected(x, column):
    """(R, C) and one number give (R, 1): a column, by its number."""
    rows, columns = x.shape
    out = nl.ndarray((rows, 1), dtype=x.dtype, buffer=nl.shared_hbm)
    assert len(column.shape) == 1, "rewritten for 1 dimension"
    number = nl.ndarray((1, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=number, src=column[0])
    tile = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    positions = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.iota(dst=positions, pattern=[[1, columns]], offset=0, channel_multiplier=0)
    number_broadcast = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    broadcast_rows(dst=number_broadcast, src=number.ap(pattern=[[1, 1], [0, columns]]))
    hit = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=hit, data1=positions, data2=number_broadcast, op=nl.equal)
    product_tile = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=product_tile, data1=tile, data2=hit, op=nl.multiply)
    product_sum = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_reduce(dst=product_sum, op=nl.add, data=product_tile, axis=1)
    nisa.dma_copy(dst=out, src=product_sum)
    return out


@nki.jit
def unzipped(x, in_pairs):
    """(2 * R, C) gives (2, R, C): the first and the second half of the rows, or of every pair of rows."""
    rows = x.shape[0] // 2
    columns = x.shape[1]
    out = nl.ndarray((2, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    assert len(x.shape) == 2, "rewritten for 2 dimensions"
    x_tile = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(
        dst=x_tile, src=x.ap(pattern=[[x.shape[1] * (2 if in_pairs else 1), rows], [1, columns]])
    )
    nisa.dma_copy(dst=out[0, :, :], src=x_tile)
    x_tile_2 = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(
        dst=x_tile_2,
        src=x.ap(
            pattern=[[x.shape[1] * (2 if in_pairs else 1), rows], [1, columns]],
            offset=x.shape[1] * (1 if in_pairs else rows),
        ),
    )
    nisa.dma_copy(dst=out[1, :, :], src=x_tile_2)
    return out


@nki.jit
def doubled(x):
    """(R, C) gives (R, C): twice the numbers, in a tile of the tensor's shape."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    assert len(x.shape) == 2, "rewritten for 2 dimensions"
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    add_tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=add_tile, data1=tile, data2=tile, op=nl.add)
    nisa.dma_copy(dst=out, src=add_tile)
    return out


@nki.jit
def quarters(x):
    """(R, C) gives (R, C): the four quarters of the columns, each times its number."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    width = columns // 4
    assert x.dtype in (
        nl.float32,
        nl.bfloat16,
        nl.float16,
        nl.int32,
    ), "rewritten for a type that integers do not change"
    for q in nl.affine_range(4):
        scaled = nl.ndarray((rows, width), dtype=x.dtype, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=scaled, data=tile[:, nl.ds(q * width, width)], op0=nl.multiply, operand0=q)
        nisa.dma_copy(dst=out[:, nl.ds(q * width, width)], src=scaled)
    return out
