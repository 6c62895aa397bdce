"""A sum of three terms in one statement, which is copied to a tile of its own."""

from neuronxcc import nki
import neuronxcc.nki.language as nl


@nki.jit
def raised(x):
    """(128, F) float32: x + 3 and x + 5."""
    out = nl.ndarray((2, 128, x.shape[1]), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.load(x)
    more = nl.add(nl.add(nl.add(tile, 1.0), 1.0), 1.0)
    kept = nl.copy(nl.add(nl.add(tile, 2.0), 3.0))
    nl.store(out[0], more)
    nl.store(out[1], kept)
    return out
