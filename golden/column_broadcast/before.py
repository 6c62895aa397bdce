"""One column of a tensor whose width no line tells, over all columns of a tile."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl

PARTITIONS = 128


def members(labels, counts):
    """(N, 1) labels: how many of them each of the (K, 1) ``counts`` has."""
    groups = counts.shape[0]
    numbers = nisa.iota(nl.arange(groups)[None, :], dtype=nl.int32)
    sums = nl.zeros((groups, 1), dtype=nl.float32, buffer=nl.psum)
    for tile in nl.affine_range(labels.shape[0] // PARTITIONS):
        start = tile * PARTITIONS
        own = nl.load(labels[start : start + PARTITIONS, :])
        own_wide = nl.broadcast_to(own, shape=(PARTITIONS, groups))
        every = nl.broadcast_to(numbers, shape=(PARTITIONS, groups))
        belongs = nl.copy(nl.equal(own_wide, every), dtype=nl.bfloat16)
        ones = nl.ones((PARTITIONS, 1), dtype=nl.bfloat16, buffer=nl.sbuf)
        sums += nisa.nc_matmul(belongs, ones)
    nl.store(counts, nl.copy(sums))


@nki.jit
def counted(labels, groups):
    """(N, 1) int32: (groups, 1) float32, how many labels each group has."""
    counts = nl.ndarray((groups, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    members(labels, counts)
    return counts
