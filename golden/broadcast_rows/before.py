"""A row spread over the partitions of a tile: by the method, by the function, and as an operand."""

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def scaled(x, weight):
    """(P, F) and (F,) gives (3, P, F): x * weight, x * weight + weight, and weight - x."""
    rows, columns = x.shape
    out = nl.ndarray((3, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    row = nl.load(weight.reshape((1, columns)))
    # the method
    spread = row.broadcast_to((rows, columns))
    product = nl.multiply(tile, spread)
    nl.store(out[0], value=product)
    # the function
    wide = nl.broadcast_to(row, shape=(rows, columns))
    nl.store(out[1], value=product + wide)
    # an operand of one partition
    nl.store(out[2], value=nl.subtract(row, tile))
    return out


@nki.jit
def shifted(x, number):
    """(P, F) and (1, 1) gives (P, F): x + number, then times number."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    one = nl.load(number[0:1, 0:1])
    raised = nl.add(tile, one.broadcast_to((rows, columns)))
    nl.store(out, value=nl.multiply(raised, one))
    return out
