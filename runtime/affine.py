"""Affine patterns as numbers: what ``iota``, ``affine_select``, masks and indirect accesses ask for."""

from __future__ import annotations

from functools import lru_cache
from math import prod

import numpy as np

from .memory import Array

_SMALL = 1 << 17
"""Numbers of a pattern up to which they are kept for the next time: a loop asks for one pattern again and again."""


def affine(offset: int | float, extents: tuple[int, ...], steps: tuple[int, ...]) -> Array:
    """``offset + sum(step[d] * i[d])`` for each ``i`` below ``extents``: an array that cannot be written.

    It is int64, float64 where the offset is a float.
    """
    return _kept(offset, extents, steps) if prod(extents) <= _SMALL else _numbers(offset, extents, steps)


def _numbers(offset: int | float, extents: tuple[int, ...], steps: tuple[int, ...]) -> Array:
    total: Array = np.asarray(offset)
    for d, (extent, step) in enumerate(zip(extents, steps, strict=True)):
        part = np.arange(extent) * step
        total = total + part.reshape([extent if k == d else 1 for k in range(len(extents))])
    total = np.ascontiguousarray(total).reshape(extents)
    total.flags.writeable = False
    return total


_kept = lru_cache(32, typed=True)(_numbers)
