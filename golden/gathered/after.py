"""Elements of each row by their positions."""

import nki
import nki.language as nl
import nki.isa as nisa


@nki.jit
def picked(x, positions):
    """(P, F) and (P, N) give (P, N): x[p, positions[p, n]]."""
    rows, _ = x.shape
    _, count = positions.shape
    out = nl.ndarray((rows, count), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    index = nl.load(positions)
    found = nl.ndarray((positions.shape[0], count), dtype=x.dtype, buffer=nl.sbuf)
    nisa.nc_n_gather(dst=found, data=tile, indices=index)
    nl.store(out, value=found)
    return out
