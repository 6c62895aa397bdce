"""What ints, slices and ``nl.ds`` select of a strided tensor, and which dimensions they may leave."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ..errors import KernelError
from .base import Shape
from .indexing import Number
from .tokens import Slice

_INTS = (int, np.integer)


@dataclass(frozen=True)
class Limit:
    """How one dimension of ``size`` is indexed: ``const + sum(coefficients[r] * position[r])``."""

    dimension: int
    size: int
    const: Number
    coefficients: tuple[int, ...]


@lru_cache(4096)
def selection(
    keys: tuple[Any, ...], sizes: Shape, steps: Shape, itemsize: int
) -> tuple[int, Shape, Shape, tuple[Limit, ...]]:
    """Offset, shape, strides and limits of what ``keys`` select from a tile of ``sizes`` with the strides ``steps``.

    A slice is the tuple (start, stop, step). ``itemsize`` is 0 in HBM, where no dimension has to stay.
    """
    shape: list[int] = []
    strides: list[int] = []
    outside: list[tuple[int, int, int, int, int]] = []
    offset = 0
    for d, k in enumerate(keys):
        size, stride = sizes[d], steps[d]
        start, count, step, stays = span(slice(*k) if isinstance(k, tuple) else k, size)
        stays = stays or (d == 0 and itemsize > 0)
        if start < 0 or start + step * (count - 1) >= size:
            outside.append((d, size, start, step, len(shape) if stays else -1))
        offset += start * stride
        if stays:
            shape.append(count)
            strides.append(stride * step)
    shape += sizes[len(keys) :]
    strides += steps[len(keys) :]
    if itemsize and len(shape) < 2:
        shape.append(1)
        strides.append(itemsize)
    return offset, tuple(shape), tuple(strides), _limits(outside, len(shape)) if outside else ()


def _limits(outside: list[tuple[int, int, int, int, int]], rank: int) -> tuple[Limit, ...]:
    """The limits of dimensions (number, size, start, step, dimension of the result or -1): those that go come first."""
    return tuple(
        Limit(d, size, start, tuple(step if k == r else 0 for k in range(rank)))
        for d, size, start, step, r in sorted(outside, key=lambda dimension: dimension[-1] >= 0)
    )


def span(k: Any, size: int) -> tuple[int, int, int, bool]:
    """Start, count, step of one basic index, and whether its dimension stays."""
    if isinstance(k, slice):
        start = 0 if k.start is None else int(k.start)
        stop = size if k.stop is None else int(k.stop)
        step = 1 if k.step is None else int(k.step)
        if start < 0 or stop < 0 or step < 1:
            raise KernelError("", f"negative index in slice {start}:{stop}:{step}")
        return start, max(-(-(stop - start) // step), 0), step, True
    if isinstance(k, _INTS):
        return int(k), 1, 1, False
    if isinstance(k, Slice):
        return int(k.start), int(k.size), 1, True
    raise KernelError("", f"'{type(k).__name__}' cannot index a tensor")
