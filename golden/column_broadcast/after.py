"""One column of a tensor whose width no line tells, over all columns of a tile."""

import nki
import nki.isa as nisa
import nki.language as nl

PARTITIONS = 128


def broadcast_rows(dst, src):
    """Copy the one row of ``src`` to every partition of ``dst``, 32 at a time."""
    for first in range(0, dst.shape[0], 32):
        rows = min(32, dst.shape[0] - first)
        nisa.nc_stream_shuffle(dst=dst[first : first + rows], src=src, shuffle_mask=[0] * 32)


def members(labels, counts):
    """(N, 1) labels: how many of them each of the (K, 1) ``counts`` has."""
    groups = counts.shape[0]
    numbers = nl.ndarray((1, groups), dtype=nl.int32, buffer=nl.sbuf)
    nisa.iota(dst=numbers, pattern=[[1, groups]], offset=0, channel_multiplier=0)
    sums = nl.ndarray((groups, 1), dtype=nl.float32, buffer=nl.psum)
    assert labels.shape[0] // PARTITIONS > 0, "rewritten for loops that run"
    assert len(labels.shape) == 2, "rewritten for 2 dimensions"
    assert labels.shape[1] == 1, "rewritten for a broadcast along free dimensions"
    for tile in nl.affine_range(labels.shape[0] // PARTITIONS):
        start = tile * PARTITIONS
        own = nl.load(labels[start : start + PARTITIONS, :])
        own_wide = nl.ndarray((PARTITIONS, groups), dtype=labels.dtype, buffer=nl.sbuf)
        nisa.tensor_copy(
            dst=own_wide, src=own.ap(pattern=[[1, PARTITIONS], [0, groups]])
        )
        every = nl.ndarray((PARTITIONS, groups), dtype=nl.int32, buffer=nl.sbuf)
        broadcast_rows(dst=every, src=numbers)
        equal_tile = nl.ndarray((PARTITIONS, groups), dtype=nl.bool_, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=equal_tile, data1=own_wide, data2=every, op=nl.equal)
        belongs = nl.ndarray((PARTITIONS, groups), dtype=nl.bfloat16, buffer=nl.sbuf)
        nisa.tensor_copy(dst=belongs, src=equal_tile)
        ones = nl.ndarray((PARTITIONS, 1), dtype=nl.bfloat16, buffer=nl.sbuf)
        nisa.memset(dst=ones, value=1)
        nisa.nc_matmul(dst=sums, stationary=belongs, moving=ones)
    sums_sbuf = nl.ndarray((groups, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=sums_sbuf, src=sums)
    nl.store(counts, sums_sbuf)


@nki.jit
def counted(labels, groups):
    """(N, 1) int32: (groups, 1) float32, how many labels each group has."""
    counts = nl.ndarray((groups, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    members(labels, counts)
    return counts
