"""Tensors that a kernel is given in tuples, and loops over."""

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def weighted(x, weights, shifts):
    """(P, F) times each weight, and exponentials of each shift less the sum of all: (W, P, F) and (S, P, F)."""
    rows, columns = x.shape
    out = nl.ndarray((len(weights), rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    shifted = nl.ndarray((len(shifts), rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.load(x, dtype=nl.float32)
    for i, weight in enumerate(weights):
        nl.store(out[i], value=nl.multiply(tile, nl.load(weight, dtype=nl.float32)))
    total = nl.zeros((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    for shift in shifts:
        total[...] = nl.add(total, nl.load(shift, dtype=nl.float32))
    for i, shift in enumerate(shifts):
        nl.store(shifted[i], value=nl.exp(nl.subtract(nl.load(shift, dtype=nl.float32), total)))
    return out, shifted
