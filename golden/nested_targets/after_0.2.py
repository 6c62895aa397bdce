"""Bands of columns, each scaled by its range: helpers and loops whose tuples hold tuples."""

import nki
import nki.language as nl
import nki.isa as nisa


def extremes(tile):
    """The largest and the smallest element of each row, and the middle between both."""
    high = nl.ndarray((tile.shape[0], 1), dtype=tile.dtype, buffer=nl.sbuf)
    nisa.tensor_reduce(dst=high, op=nl.maximum, data=tile, axis=1)
    low = nl.ndarray((tile.shape[0], 1), dtype=tile.dtype, buffer=nl.sbuf)
    nisa.tensor_reduce(dst=low, op=nl.minimum, data=tile, axis=1)
    add_tile = nl.ndarray((tile.shape[0], 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=add_tile, data1=high, data2=low, op=nl.add)
    add_scaled = nl.ndarray((tile.shape[0], 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=add_scaled, data=add_tile, op0=nl.multiply, operand0=0.5)
    return add_scaled, (high, low)


def extent(x):
    rows = x.shape[0]
    sizes = list(x.shape[1:])
    return rows, (sizes[0], sizes[0] // 2)


@nki.jit
def scaled_bands(x):
    """(128, N) gives (128, N): the left half of the columns by the range of its rows, twice the right half by its."""
    rows, parts = extent(x)
    columns, half = parts
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    bands = [("left", (0, 1.0)), ("right", (half, 2.0))]
    factors = [0.0, 0.0]
    for place in range(len(bands)):
        parts_2 = bands[place]
        name, parts_3 = parts_2
        start, factor = parts_3
        # the right one counts twice
        element, last = factor, name
        factors[place] = element
    assert last == "right"
    starts = []
    for item_2 in bands:
        name_2, parts_5 = item_2
        start_2, _ = parts_5
        starts.append(start_2)
    left, right = starts
    one, two = factors
    assert len(x.shape) == 2, "rewritten for 2 dimensions"
    for item in [(left, one), (right, two)]:
        start = item[0]
        rest = list(item[1:])
        tile = nl.ndarray((rows, half), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[0:rows, start : start + half])
        middle, parts_4 = extremes(tile)
        high, low = parts_4
        spread = nl.ndarray(high.shape, dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=spread, data1=high, data2=low, op=nl.subtract)
        (factor,) = rest
        centred = nl.ndarray((rows, half), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=centred, data=tile, op0=nl.subtract, operand0=middle)
        scaled = nl.ndarray((rows, half), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(
            dst=scaled, data=centred, op0=nl.multiply, operand0=spread, op1=nl.multiply, operand1=factor
        )
        nisa.dma_copy(dst=out[0:rows, start : start + half], src=scaled)
    return out
