"""A product whose contraction two programs share."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import numpy as np


def reduced(partial, rows, shard):
    """The sum of what the programs of the grid have in the first ``rows`` rows."""
    total = nl.zeros(partial.shape, dtype=nl.float32, buffer=nl.sbuf)
    i_p, i_f = nl.mgrid[0 : partial.shape[0], 0 : partial.shape[1]]
    total[i_p, i_f] = nl.all_reduce(partial[i_p, i_f], op=np.add, program_axes=[shard], mask=i_p < rows)
    return total


@nki.jit
def product(a, b, rows):
    """(K, 128) and (K, N) give a (128, N) tile for each program: the first ``rows`` rows of ``a.T @ b``, then zeros."""
    shards, shard = nl.num_programs(axes=0), nl.program_id(axis=0)
    contraction = a.shape[0] // shards
    out = nl.ndarray((shards, 128, b.shape[1]), dtype=nl.float32, buffer=nl.shared_hbm)
    left = nl.load(a[nl.ds(shard * contraction, contraction), 0:128])
    right = nl.load(b[nl.ds(shard * contraction, contraction), 0 : b.shape[1]])
    partial = nl.copy(nisa.nc_matmul(left, right))
    nl.store(out[shard], reduced(partial, rows, shard))
    return out
