"""A kernel that defines one of two functions under one name, and calls it."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def shifted(x):
    """(P, F) plus 1, or plus 4 where it is wider than 32."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    if columns > 32:

        def shift(number):
            return number + 3

    else:

        def shift(number):
            return number

    tile = nl.load(x)
    tile[...] = nisa.tensor_scalar(tile, op0=nl.add, operand0=float(shift(1)))
    nl.store(out, value=tile)
    return out
