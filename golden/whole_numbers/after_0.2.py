"""Integers: where each element of a grid comes from when the grid is stretched."""

import nki
import nki.isa as nisa
import nki.language as nl


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
def nearest(x, height, width):
    """(h, w) gives (height * width, 1): for each place of the stretched grid, the place of x that is nearest above."""
    h, w = x.shape
    count = height * width
    out = nl.ndarray((count, 1), dtype=nl.int32, buffer=nl.shared_hbm)
    place = nl.ndarray((count, 1), dtype=nl.int32, buffer=nl.sbuf)
    nisa.iota(dst=place, pattern=[[0, 1]], offset=0, channel_multiplier=1)
    quotient_tile = nl.ndarray((count, 1), dtype=nl.int32, buffer=nl.sbuf)
    floor_divided(dst=quotient_tile, src=place, divisor=width)
    row = nl.ndarray((count, 1), dtype=nl.int32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=row, src=quotient_tile)
    floor_divided_tile = nl.ndarray((count, 1), dtype=nl.int32, buffer=nl.sbuf)
    floor_divided(dst=floor_divided_tile, src=place, divisor=width)
    column = nl.ndarray((count, 1), dtype=nl.int32, buffer=nl.sbuf)
    nisa.scalar_tensor_tensor(
        dst=column, data=floor_divided_tile, op0=nl.multiply, operand0=-1 * width, op1=nl.add, operand1=place
    )
    row_scaled = nl.ndarray((count, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=row_scaled, data=row, op0=nl.multiply, operand0=h / height)
    row_scaled_copy = nl.ndarray((count, 1), dtype=nl.int32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=row_scaled_copy, src=row_scaled)
    tensor_tensor_tile = nl.ndarray((count, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=tensor_tensor_tile, data1=row_scaled_copy, data2=row_scaled, op=nl.greater)
    from_row = nl.ndarray((count, 1), dtype=nl.int32, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=from_row, data1=row_scaled_copy, data2=tensor_tensor_tile, op=nl.subtract)
    column_scaled = nl.ndarray((count, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=column_scaled, data=column, op0=nl.multiply, operand0=w / width)
    column_scaled_copy = nl.ndarray((count, 1), dtype=nl.int32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=column_scaled_copy, src=column_scaled)
    tensor_tensor_tile_2 = nl.ndarray((count, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=tensor_tensor_tile_2, data1=column_scaled_copy, data2=column_scaled, op=nl.greater)
    from_column = nl.ndarray((count, 1), dtype=nl.int32, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=from_column, data1=column_scaled_copy, data2=tensor_tensor_tile_2, op=nl.subtract)
    from_row_scaled = nl.ndarray((count, 1), dtype=nl.int32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=from_row_scaled, data=from_row, op0=nl.multiply, operand0=w)
    sum_tile = nl.ndarray((count, 1), dtype=nl.int32, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=sum_tile, data1=from_row_scaled, data2=from_column, op=nl.add)
    nisa.dma_copy(dst=out, src=sum_tile)
    return out


@nki.jit
def whole(x):
    """(P, F): the largest whole numbers that are not above x."""
    out = nl.ndarray(x.shape, dtype=nl.int32, buffer=nl.shared_hbm)
    x_tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=x_tile, src=x)
    x_copy = nl.ndarray(x_tile.shape, dtype=nl.int32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=x_copy, src=x_tile)
    tensor_tensor_tile = nl.ndarray(x_copy.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=tensor_tensor_tile, data1=x_copy, data2=x_tile, op=nl.greater)
    floor_tile = nl.ndarray(x_copy.shape, dtype=nl.int32, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=floor_tile, data1=x_copy, data2=tensor_tensor_tile, op=nl.subtract)
    nisa.dma_copy(dst=out, src=floor_tile)
    return out
