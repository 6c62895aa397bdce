"""Integers: where each element of a grid comes from when the grid is stretched."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def nearest(x, height, width):
    """(h, w) gives (height * width, 1): for each place of the stretched grid, the place of x that is nearest above."""
    h, w = x.shape
    count = height * width
    out = nl.ndarray((count, 1), dtype=nl.int32, buffer=nl.shared_hbm)
    i_p = nl.arange(count)[:, None]
    place = nisa.iota(i_p, dtype=nl.int32)
    row = nl.floor(place / width, dtype=nl.int32)
    column = nl.mod(place, width, dtype=nl.int32)
    from_row = nl.floor(nl.multiply(row, h / height, dtype=nl.float32), dtype=nl.int32)
    from_column = nl.floor(nl.multiply(column, w / width, dtype=nl.float32), dtype=nl.int32)
    nl.store(out, value=from_row * w + from_column)
    return out


@nki.jit
def whole(x):
    """(P, F): the largest whole numbers that are not above x."""
    out = nl.ndarray(x.shape, dtype=nl.int32, buffer=nl.shared_hbm)
    nl.store(out, value=nl.floor(nl.load(x), dtype=nl.int32))
    return out
