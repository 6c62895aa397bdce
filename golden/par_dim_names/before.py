"""The mark of the partition dimension under a name: in a size, in a shape, and in what a tuple of names gets."""

import neuronxcc.nki as nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.language as nl
from neuronxcc.nki.language import par_dim


@nki.jit
def four_times(x):
    """(N, P, F) times four, by doubling twice."""
    n, p, f = x.shape
    out = nl.ndarray((n, p, f), dtype=x.dtype, buffer=nl.shared_hbm)
    partitions = par_dim(p)
    shape, width = (n, nl.par_dim(p), f), f * 4
    first = nl.ndarray((n, partitions, f), dtype=nl.float32, buffer=ncc.sbuf.mod_alloc(base_addr=0, num_free_tiles=(2, )))
    second = nl.ndarray(shape, dtype=nl.float32, buffer=ncc.sbuf.mod_alloc(base_addr=2 * width))
    last = nl.ndarray((partitions, f), dtype=nl.float32, buffer=ncc.sbuf.mod_alloc(base_addr=3 * width))
    for i in nl.affine_range(n):
        first[i] = nl.load(x[i])
        second[i] = nl.add(first[i], first[i])
        last[...] = nl.add(second[i], second[i])
        nl.store(out[i], value=last)
    return out
