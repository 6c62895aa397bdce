"""Batch normalisation statistics of VectorE."""

from __future__ import annotations

import numpy as np

from ..errors import KernelError
from ..memory import Array, View
from ..numerics import to_float32
from ..spec.hardware import BN_STATS_FMAX
from .core import Result, result_of
from .reductions import reduce_last


def bn_stats(data: View) -> Result:
    """(P, F <= 512) to (P, 6): count, mean and variance * count of the even, then of the odd elements."""
    flat = to_float32(data.array).reshape(data.array.shape[0], -1)
    if flat.shape[1] > BN_STATS_FMAX:
        raise KernelError(
            "err_size_of_dimension_exceed_arch_limit",
            f"bn_stats takes up to {BN_STATS_FMAX} elements a partition, got {flat.shape[1]}",
        )
    columns = [column for half in (flat[:, 0::2], flat[:, 1::2]) for column in _moments(half)]
    return result_of("bn_stats", np.stack(columns, axis=1), (("data", data),))


def _moments(half: Array) -> tuple[Array, Array, Array]:
    count = np.full(half.shape[0], half.shape[1], np.float32)
    if not half.shape[1]:
        return count, count, count
    mean = reduce_last("add", half) / count
    return count, mean, reduce_last("add", np.square(half - mean[:, None]))


def bn_aggr(data: View) -> Result:
    """Aggregate (count, mean, variance * count) triples: (P, 3k) to (P, 2), the mean and the population variance."""
    flat = to_float32(data.array).reshape(data.array.shape[0], -1)
    if flat.shape[1] % 3:
        raise KernelError("", f"bn_aggr takes triples, got {flat.shape[1]} elements a partition")
    count, mean, spread = flat[:, 0::3], flat[:, 1::3], flat[:, 2::3]
    total = reduce_last("add", count)
    average = reduce_last("add", count * mean) / total
    within = reduce_last("add", spread) + reduce_last("add", count * np.square(mean - average[:, None]))
    return result_of("bn_aggr", np.stack([average, within / total], axis=1), (("data", data),))
