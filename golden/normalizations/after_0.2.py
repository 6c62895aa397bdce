"""Functions of the language that normalize, or work on bits and truth values."""

import nki
import nki.language as nl
import nki.isa as nisa


def product(sizes):
    """The product of some sizes."""
    result = 1
    for size in sizes:
        result = result * size
    return result


def combined(dst, a, b, op, ordered=False):
    """``a op b`` of tiles of one shape, or of which one has one element in each partition."""
    free_a = product(a.shape[1:])
    free_b = product(b.shape[1:])
    assert a.shape[0] == b.shape[0], "combined: tiles of different partitions"
    if free_a == free_b:
        assert a.shape == b.shape or free_a == 1, "combined: tiles of different shapes"
        nisa.tensor_tensor(dst=dst, data1=a, data2=b, op=op)
    elif free_b == 1:
        nisa.tensor_scalar(dst=dst, data=a, op0=op, operand0=b)
    else:
        assert free_a == 1, "combined: tiles of different sizes"
        nisa.tensor_scalar(dst=dst, data=b, op0=op, operand0=a, reverse0=ordered)


def broadcast_rows(dst, src):
    """Copy the one row of ``src`` to every partition of ``dst``, 32 at a time."""
    for first in range(0, dst.shape[0], 32):
        rows = min(32, dst.shape[0] - first)
        nisa.nc_stream_shuffle(dst=dst[first : first + rows], src=src, shuffle_mask=[0] * 32)


def floor_divided(dst, src, divisor):
    """``src // divisor`` of whole numbers below 2**24: a rounded quotient, corrected by what it leaves."""
    assert isinstance(divisor, int) and divisor > 0, "floor_divided: a divisor that is no positive integer"
    quotient = nl.ndarray(src.shape, dtype=nl.int32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=quotient, data=src, op0=nl.multiply, operand0=1.0 / divisor)
    rest = nl.ndarray(src.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.scalar_tensor_tensor(
        dst=rest, data=quotient, op0=nl.multiply, operand0=-1 * divisor, op1=nl.add, operand1=src
    )
    below = nl.ndarray(src.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=below, data=rest, op0=nl.less, operand0=0.0)
    step = nl.ndarray(src.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.scalar_tensor_tensor(
        dst=step, data=rest, op0=nl.greater_equal, operand0=divisor, op1=nl.subtract, operand1=below
    )
    nisa.tensor_tensor(dst=dst, data1=quotient, data2=step, op=nl.add)


@nki.jit
def normalized(x, w):
    """(P, F) and (P, F): the softmax of each row, the RMS norm with weights, and the variance."""
    soft = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    norm = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.shared_hbm)
    spread = nl.ndarray((x.shape[0], 1), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    assert len(w.shape) > 1, "rewritten for 2 dimensions at least"
    weights = nl.ndarray(w.shape, dtype=w.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=weights, src=w)
    assert len(tile.shape) == 2, "rewritten for 2 dimensions"
    row_max = nl.ndarray((tile.shape[0], 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_reduce(dst=row_max, op=nl.maximum, data=tile, axis=1)
    distances = nl.ndarray(tile.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=distances, data=tile, op0=nl.subtract, operand0=row_max)
    powers = nl.ndarray(tile.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.activation(dst=powers, op=nl.exp, data=distances)
    row_sum = nl.ndarray((tile.shape[0], 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_reduce(dst=row_sum, op=nl.add, data=powers, axis=1)
    row_sum_reciprocal = nl.ndarray((tile.shape[0], 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.reciprocal(dst=row_sum_reciprocal, data=row_sum)
    softmax_tile = nl.ndarray(tile.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=softmax_tile, data=powers, op0=nl.multiply, operand0=row_sum_reciprocal)
    nisa.dma_copy(dst=soft, src=softmax_tile)
    squares = nl.ndarray(tile.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.activation(dst=squares, op=nl.square, data=tile)
    square_sum = nl.ndarray((tile.shape[0], 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_reduce(dst=square_sum, op=nl.add, data=squares, axis=1)
    mean_square = nl.ndarray((tile.shape[0], 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(
        dst=mean_square,
        data=square_sum,
        op0=nl.multiply,
        operand0=1.0 / x.shape[1],
        op1=nl.add,
        operand1=1e-5,
    )
    inverse_rms = nl.ndarray((tile.shape[0], 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.activation(dst=inverse_rms, op=nl.rsqrt, data=mean_square)
    normed = nl.ndarray(tile.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=normed, data=tile, op0=nl.multiply, operand0=inverse_rms)
    rms_norm_tile = nl.ndarray(tile.shape, dtype=nl.float32, buffer=nl.sbuf)
    combined(dst=rms_norm_tile, a=normed, b=weights, op=nl.multiply)
    nisa.dma_copy(dst=norm, src=rms_norm_tile)
    row_sum_2 = nl.ndarray((tile.shape[0], 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_reduce(dst=row_sum_2, op=nl.add, data=tile, axis=1)
    row_mean = nl.ndarray((tile.shape[0], 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=row_mean, data=row_sum_2, op0=nl.multiply, operand0=1.0 / tile.shape[1])
    distances_2 = nl.ndarray(tile.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=distances_2, data=tile, op0=nl.subtract, operand0=row_mean)
    squares_2 = nl.ndarray(tile.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.activation(dst=squares_2, op=nl.square, data=distances_2)
    square_sum_2 = nl.ndarray((tile.shape[0], 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_reduce(dst=square_sum_2, op=nl.add, data=squares_2, axis=1)
    square_sum_2_scaled = nl.ndarray((tile.shape[0], 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(
        dst=square_sum_2_scaled, data=square_sum_2, op0=nl.multiply, operand0=1.0 / tile.shape[1]
    )
    nisa.dma_copy(dst=spread, src=square_sum_2_scaled)
    return soft, norm, spread


@nki.jit
def in_turns(x, w):
    """(P, B, F) and (1, B * F): softmax and RMS norm of rows that have two dimensions, into one tile."""
    p, b, f = x.shape
    out = nl.ndarray((p, b, f), dtype=nl.float32, buffer=nl.shared_hbm)
    flat = nl.ndarray((p, b * f), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.ndarray((p, b, f), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    soft = nl.ndarray((p, b, f), dtype=nl.float32)
    tile_scaled = nl.ndarray((p, b, f), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=tile_scaled, data=tile, op0=nl.multiply, operand0=2.0)
    row_max = nl.ndarray((p, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_reduce(dst=row_max, op=nl.maximum, data=tile_scaled, axis=[3, 4])
    distances = nl.ndarray((p, b, f), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=distances, data=tile_scaled, op0=nl.subtract, operand0=row_max)
    powers = nl.ndarray((p, b, f), dtype=nl.float32, buffer=nl.sbuf)
    nisa.activation(dst=powers, op=nl.exp, data=distances)
    row_sum = nl.ndarray((p, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_reduce(dst=row_sum, op=nl.add, data=powers, axis=[3, 4])
    row_sum_reciprocal = nl.ndarray((p, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.reciprocal(dst=row_sum_reciprocal, data=row_sum)
    nisa.tensor_scalar(dst=soft, data=powers, op0=nl.multiply, operand0=row_sum_reciprocal)
    assert len(w.shape) == 2, "rewritten for 2 dimensions"
    row = nl.ndarray((1, b * f), dtype=w.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=row, src=w[0:1, 0 : b * f])
    nisa.dma_copy(dst=out, src=soft)
    squares = nl.ndarray((p, b * f), dtype=nl.float32, buffer=nl.sbuf)
    nisa.activation(dst=squares, op=nl.square, data=tile.reshape((p, b * f)))
    square_sum = nl.ndarray((p, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_reduce(dst=square_sum, op=nl.add, data=squares, axis=1)
    mean_square = nl.ndarray((p, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(
        dst=mean_square,
        data=square_sum,
        op0=nl.multiply,
        operand0=1.0 / (b * f),
        op1=nl.add,
        operand1=1e-06,
    )
    inverse_rms = nl.ndarray((p, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.activation(dst=inverse_rms, op=nl.rsqrt, data=mean_square)
    normed = nl.ndarray((p, b * f), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=normed, data=tile.reshape((p, b * f)), op0=nl.multiply, operand0=inverse_rms)
    row_broadcast = nl.ndarray((p, b * f), dtype=w.dtype, buffer=nl.sbuf)
    broadcast_rows(dst=row_broadcast, src=row)
    rms_norm_tile = nl.ndarray((p, b * f), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=rms_norm_tile, data1=normed, data2=row_broadcast, op=nl.multiply)
    nisa.dma_copy(dst=flat, src=rms_norm_tile)
    return out, flat


@nki.jit
def bits(x):
    """(P, F) of int32: bits by operators, remainders, truth values of rows, and what is 0."""
    p, f = x.shape
    outs = nl.ndarray((6, p, f), dtype=nl.int32, buffer=nl.shared_hbm)
    rows = nl.ndarray((p, 1), dtype=nl.uint8, buffer=nl.shared_hbm)
    zeros = nl.ndarray((p, f), dtype=nl.uint8, buffer=nl.shared_hbm)
    tile = nl.ndarray((p, f), dtype=nl.int32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    tile_2 = nl.ndarray((p, f), dtype=nl.int32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=tile_2, data=tile, op0=nl.bitwise_and, operand0=6)
    nisa.dma_copy(dst=outs[0], src=tile_2)
    tile_3 = nl.ndarray((p, f), dtype=nl.int32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=tile_3, data=tile, op0=nl.bitwise_or, operand0=1)
    tile_4 = nl.ndarray((p, f), dtype=nl.int32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=tile_4, data=tile_3, op0=nl.bitwise_xor, operand0=3)
    nisa.dma_copy(dst=outs[1], src=tile_4)
    tile_5 = nl.ndarray((p, f), dtype=nl.int32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=tile_5, data=tile, op0=nl.left_shift, operand0=2)
    nisa.dma_copy(dst=outs[2], src=tile_5)
    tile_6 = nl.ndarray((p, f), dtype=nl.int32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=tile_6, data=tile, op0=nl.bitwise_xor, operand0=-1)
    nisa.dma_copy(dst=outs[3], src=tile_6)
    floor_divided_tile = nl.ndarray((p, f), dtype=nl.int32, buffer=nl.sbuf)
    floor_divided(dst=floor_divided_tile, src=tile, divisor=5)
    remainder_tile = nl.ndarray((p, f), dtype=nl.int32, buffer=nl.sbuf)
    nisa.scalar_tensor_tensor(
        dst=remainder_tile,
        data=floor_divided_tile,
        op0=nl.multiply,
        operand0=-1 * 5,
        op1=nl.add,
        operand1=tile,
    )
    nisa.dma_copy(dst=outs[4], src=remainder_tile)
    tile_7 = nl.ndarray((p, f), dtype=nl.int32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=tile_7, data=tile, op0=nl.right_shift, operand0=1)
    invert_tile = nl.ndarray((p, f), dtype=nl.int32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=invert_tile, data=tile_7, op0=nl.bitwise_xor, operand0=-1)
    nisa.dma_copy(dst=outs[5], src=invert_tile)
    all_tile = nl.ndarray((p, 1), dtype=nl.bool_, buffer=nl.sbuf)
    nisa.tensor_reduce(dst=all_tile, op=nl.logical_and, data=tile, axis=1)
    nisa.dma_copy(dst=rows, src=all_tile)
    logical_not_tile = nl.ndarray((p, f), dtype=nl.uint8, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=logical_not_tile, data=tile, op0=nl.equal, operand0=0.0)
    nisa.dma_copy(dst=zeros, src=logical_not_tile)
    return outs, rows, zeros
