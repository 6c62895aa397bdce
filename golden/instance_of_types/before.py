"""A scale that is a number, or one number for each tile; a shift that may be absent."""

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def scaled(x, scale, shift=None):
    """(T, P, F): tile t times ``scale``, or ``scale[t]``, and plus ``shift`` where it is a number."""
    tiles, rows, columns = x.shape
    out = nl.ndarray((tiles, rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    if not isinstance(scale, (int, float)):
        assert isinstance(scale, (tuple, list)), "a list"
        assert len(scale) == tiles, "one scale for each tile"
    offset = shift if isinstance(shift, int | float) else 0.0
    for t in nl.static_range(tiles):
        factor = scale if isinstance(scale, (int, float)) else scale[t]
        tile = nl.multiply(nl.load(x[t]), factor, dtype=nl.float32)
        nl.store(out[t], value=nl.add(tile, offset, dtype=nl.float32))
    return out
