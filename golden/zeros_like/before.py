"""A tile with the shape and type of another."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def positive_part(x):
    """(P, F) gives (P, F): x where it is positive, 0 elsewhere."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    kept = nl.zeros_like(tile)
    nisa.tensor_copy_predicated(src=tile, dst=kept, predicate=nl.greater(tile, 0.0))
    nl.store(out, value=kept)
    return out
