"""Tiles scaled by a table that a comprehension makes."""

import nki
import nki.language as nl
import nki.isa as nisa


@nki.jit
def stepped(x, step=0.5):
    """(T, P, F): tile t times 1 + t * step."""
    tiles, rows, columns = x.shape
    out = nl.ndarray((tiles, rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    factors = []
    for t in range(tiles):
        factors.append(1.0 + t * step)
    for t in nl.static_range(tiles):
        tile = nl.load(x[t])
        scaled = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=scaled, data=tile, op0=nl.multiply, operand0=factors[t])
        nl.store(out[t], value=scaled)
    return out
