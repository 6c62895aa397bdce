"""A tile with the shape and type of another."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def positive_part(x):
    """(P, F) gives (P, F): x where it is positive, 0 elsewhere."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    assert len(x.shape) > 1, "rewritten for 2 dimensions at least"
    tile = nl.load(x)
    kept = nl.zeros(tile.shape, dtype=x.dtype, buffer=nl.sbuf)
    greater_tile = nl.ndarray(tile.shape, dtype=nl.uint8, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=greater_tile, data=tile, op0=nl.greater, operand0=0.0)
    nisa.tensor_copy_predicated(dst=kept, src=tile, predicate=greater_tile)
    nl.store(out, value=kept)
    return out
