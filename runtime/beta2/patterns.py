"""Access patterns: the elements that ``[[step, count], ...]`` selects of a tensor.

Sources: ``reference/beta2.md`` sections 1.9 and 2.5; the examples of the migration guide.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ..errors import KernelError
from ..memory import Array, View

Pattern = tuple[tuple[int, int], ...]
OUT_OF_BOUNDS = "access pattern leaves the tensor"


class OutOfBounds(KernelError):
    """A dynamic access leaves its tensor; ``oob_mode.skip`` turns it into no access."""


def _row_elements(tensor: View, kind: np.dtype[Any]) -> int:
    """Elements of one partition of ``tensor``, in elements of ``kind``."""
    return prod(tensor.array.shape[1:]) * tensor.array.dtype.itemsize // kind.itemsize


def check_partition_step(tensor: View, steps: Pattern, kind: np.dtype[Any]) -> None:
    if tensor.alloc.space == "hbm":
        return
    row = _row_elements(tensor, kind)
    step, count = steps[0]
    if step != row and count != 1:
        raise KernelError(
            "",
            f"the first step of an access pattern on {tensor.alloc.space.upper()} walks partitions: it must be "
            f"{row}, the tensor's elements a partition, not {step}",
        )


def pattern_array(tensor: View, steps: Pattern, start: int, kind: np.dtype[Any]) -> Array:
    """The strided array that a pattern with a known start selects; raises when it leaves the tensor."""
    counts = tuple([count for _, count in steps])
    if tensor.alloc.space == "hbm":
        total = tensor.array.size * tensor.array.dtype.itemsize // kind.itemsize
        _check_range(start, steps, total, "elements")
        size = kind.itemsize
        strides = tuple([step * size for step, _ in steps])
        part: Array = np.ndarray(counts, kind, buffer=tensor.alloc.bytes, offset=start * size, strides=strides)
        return part
    check_partition_step(tensor, steps, kind)
    row = _row_elements(tensor, kind)
    partition, first = divmod(start, row) if row else (0, start)
    if partition < 0 or partition + steps[0][1] > tensor.array.shape[0]:
        raise OutOfBounds(
            "",
            f"{OUT_OF_BOUNDS}: partitions [{partition}, {partition + steps[0][1]}) of {tensor.array.shape[0]}",
        )
    _check_range(first, steps[1:], row, "elements of a partition")
    memory, origin = tensor.alloc.memory, tensor.alloc.origin
    pitch = memory.strides[0]
    position = (origin[0] + partition) * pitch + origin[1] + first * kind.itemsize
    strides = (pitch, *(step * kind.itemsize for step, _ in steps[1:]))
    tile: Array = np.ndarray(counts, kind, buffer=memory, offset=position, strides=strides)
    return tile


def _check_range(start: int, steps: Pattern, total: int, what: str) -> None:
    low = high = start
    for step, count in steps:
        if count == 0:
            return
        if step < 0:
            low += step * (count - 1)
        else:
            high += step * (count - 1)
    if low < 0 or high >= total:
        raise OutOfBounds("", f"{OUT_OF_BOUNDS}: {what} [{low}, {high}] of {total}")
