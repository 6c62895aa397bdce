"""One tensor, five ways to say which dimension is the partition dimension."""

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl
from neuronxcc.nki.language import par_dim


@nki.jit
def four_times(x):
    """(N, P, F) times four, by doubling twice."""
    n, p, f = x.shape
    out = nl.ndarray((n, p, f), dtype=x.dtype, buffer=nl.shared_hbm)
    first = nl.ndarray((n, nl.par_dim(p), f), dtype=x.dtype, buffer=nl.sbuf)
    second = nl.ndarray(shape=(n, par_dim(p), f), dtype=x.dtype, buffer=nl.sbuf)
    third = nl.ndarray([n, par_dim(p), f], x.dtype)
    for i in nl.affine_range(n):
        first[i] = nl.load(x[i])
        second[i] = nl.add(first[i], first[i])
        fourth = nl.ndarray((par_dim(p), f), buffer=nl.sbuf, dtype=x.dtype)
        fourth[...] = nl.add(second[i], second[i])
        fifth = nl.ndarray((p, f), dtype=x.dtype, buffer=nl.sbuf)
        fifth[...] = nl.copy(fourth)
        third[i] = nl.copy(fifth)
        nl.store(out[i], value=third[i])
    return out
