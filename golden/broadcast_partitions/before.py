"""A row spread over all partitions."""

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def weighted(x, weights):
    """(P, F) times a row (1, F)."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    row = nl.load(weights)
    spread = nl.broadcast_to(row, shape=(rows, columns))
    result = nl.multiply(tile, spread)
    nl.store(out, value=result)
    return out
