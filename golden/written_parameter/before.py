"""A kernel of the first style: it writes to a tensor that it gets, and returns nothing."""

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


def put(dst, tile):
    nl.store(dst, value=tile)


@nki.jit(kernel_return=False)
def doubled(x, out):
    """Twice (P, F), like ``out``."""
    tile = nl.load(x)
    twice = nl.multiply(tile, 2.0, dtype=x.dtype)
    put(out, twice)


def run(x, out):
    doubled(x, out)
    return out
