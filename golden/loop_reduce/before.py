"""Tiles added up over a loop by nl.loop_reduce."""

import numpy as np
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def total(x):
    """(T, P, F) gives (P, F): the sum over the tiles."""
    tiles, rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    total_tile = nl.zeros((nl.par_dim(rows), columns), dtype=nl.float32, buffer=nl.sbuf)
    for t in nl.affine_range(tiles):
        tile = nl.load(x[t])
        total_tile[...] = nl.loop_reduce(tile, op=np.add, loop_indices=[t])
    nl.store(out, value=total_tile)
    return out
