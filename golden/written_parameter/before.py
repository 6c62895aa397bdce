"""A kernel of the first style: it writes to a tensor that it gets, and returns nothing."""

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit(kernel_return=False)
def doubled(x, out):
    """Twice (P, F), into ``out``."""
    tile = nl.load(x)
    twice = nl.multiply(tile, 2.0, dtype=x.dtype)
    nl.store(out, value=twice)
