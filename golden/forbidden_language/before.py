"""Tiles scaled by a table that a comprehension makes."""

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def stepped(x, step=0.5):
    """(T, P, F): tile t times 1 + t * step."""
    tiles, rows, columns = x.shape
    out = nl.ndarray((tiles, rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    factors = [1.0 + t * step for t in range(tiles)]
    for t in nl.static_range(tiles):
        tile = nl.load(x[t])
        scaled = nl.multiply(tile, factors[t], dtype=nl.float32)
        nl.store(out[t], value=scaled)
    return out
