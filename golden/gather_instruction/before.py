"""Elements of each row by their positions."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def picked(x, positions):
    """(P, F) and (P, N) give (P, N): x[p, positions[p, n]]."""
    rows, _ = x.shape
    _, count = positions.shape
    out = nl.ndarray((rows, count), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    index = nl.load(positions)
    found = nisa.nc_n_gather(tile, index)
    nl.store(out, value=found)
    return out
