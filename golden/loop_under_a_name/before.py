"""Loops whose function has a name, and is chosen by a condition: Beta 1 traced the body once on both of its sides."""

import numpy as np
import neuronxcc.nki as nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
from neuronxcc.nki.language import par_dim


@nki.jit
def running_peaks(x, ordered=True):
    """(T, P, F) gives (T, P, 1): the largest element of each row times 2, however many tiles there are."""
    tiles, rows, columns = x.shape
    out = nl.ndarray((tiles, rows, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    passes = nl.sequential_range if ordered else nl.affine_range
    factor = 1
    address = 0
    for t in passes(tiles):
        factor += 1
        tile = nl.ndarray((par_dim(rows), columns), dtype=nl.float32, buffer=ncc.sbuf.mod_alloc(base_addr=address))
        address += columns * 4
        peak = nl.ndarray((par_dim(rows), 1), dtype=nl.float32, buffer=ncc.sbuf.mod_alloc(base_addr=address))
        address += 4
        tile[...] = nl.load(x[t])
        peak[...] = nisa.tensor_reduce(np.max, data=tile, axis=1)
        peak[...] = nl.multiply(peak, float(factor))
        nl.store(out[t], value=peak)
    return out
