"""Where the rows lie that a tensor of indices chooses: of an access with ``vector_offset``, gathered or scattered."""

from __future__ import annotations

from math import prod

import numpy as np

from ..memory import Array
from .tensor import GatheredTensor


def rows(access: GatheredTensor) -> tuple[Array, Array]:
    """The row-major number of the first element of each row, and which rows lie inside the tensor."""
    row = prod(access.base.array.shape[1:])
    chosen = access.indices.resolved().array.reshape(-1).astype(np.int64)[: access.steps[0][1]]
    starts = access.start + chosen * row
    reach = [step * (count - 1) for step, count in access.steps[1:]]
    low, high = sum(min(each, 0) for each in reach), sum(max(each, 0) for each in reach)
    if any(count == 0 for _, count in access.steps[1:]):
        return np.zeros_like(starts), np.ones(len(starts), np.bool_)
    return starts, (starts + low >= 0) & (starts + high < access.base.array.size)


def windows(access: GatheredTensor, flat: Array) -> Array:
    """What a row that begins at each element has, on ``flat``, the memory of the tensor: of rows inside it only."""
    shape = (flat.size, *(count for _, count in access.steps[1:]))
    strides = (flat.itemsize, *(step * flat.itemsize for step, _ in access.steps[1:]))
    return np.lib.stride_tricks.as_strided(flat, shape, strides)


def elements(access: GatheredTensor, starts: Array) -> Array:
    """The row-major numbers of the elements of rows that begin at ``starts``, one row of numbers each."""
    numbers = starts
    for step, count in access.steps[1:]:
        numbers = numbers[..., None] + np.arange(count) * step
    return numbers.reshape(len(starts), prod(count for _, count in access.steps[1:]))
