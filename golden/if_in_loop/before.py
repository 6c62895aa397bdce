"""A condition on the loop variable."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def differences(x):
    """(T, P, F): the first tile as it is, every other minus the one before it."""
    tiles, rows, columns = x.shape
    out = nl.ndarray((tiles, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    previous = nl.ndarray((nl.par_dim(rows), columns), dtype=x.dtype, buffer=nl.sbuf)
    for t in nl.sequential_range(tiles):
        tile = nl.ndarray((nl.par_dim(rows), columns), dtype=x.dtype, buffer=nl.sbuf)
        tile[...] = nl.load(x[t])
        if t == 0:
            nl.store(out[t], value=tile)
        else:
            step = nl.ndarray((nl.par_dim(rows), columns), dtype=x.dtype, buffer=nl.sbuf)
            step[...] = nl.subtract(tile, previous)
            nl.store(out[t], value=step)
        previous[...] = nisa.tensor_copy(tile)
    return out
