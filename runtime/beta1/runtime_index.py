"""Indices that hold values read at run time."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import KernelError
from .base import Tensor
from .indexing import Index

_INTS = (int, np.integer)


class RuntimeIndex:
    """An index that holds values read at run time: a tile's elements, possibly shifted by an index vector."""

    __slots__ = ("values",)
    __array_ufunc__ = None

    def __init__(self, values: Any) -> None:
        self.values = values

    def _with(self, other: Any, sign: int) -> Any:
        if isinstance(other, RuntimeIndex):
            return RuntimeIndex(self.values + sign * other.values)
        if isinstance(other, Index):
            return RuntimeIndex(self.values + sign * other.values())
        if isinstance(other, _INTS):
            return RuntimeIndex(self.values + sign * int(other))
        return NotImplemented

    def __add__(self, other: Any) -> Any:
        return self._with(other, 1)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._with(other, -1)

    def __mul__(self, other: Any) -> Any:
        return RuntimeIndex(self.values * int(other)) if isinstance(other, _INTS) else NotImplemented

    __rmul__ = __mul__


def runtime_values(k: Any) -> Any:
    """The integers of one index of an indirect access."""
    if isinstance(k, Tensor):
        array = k.as_tile().array
        if array.dtype.kind not in "iu":
            raise KernelError("", f"index tile '{k.as_tile().name}' must have an integer type, not {array.dtype}")
        return array.astype(np.int64)
    if isinstance(k, RuntimeIndex):
        return k.values
    if isinstance(k, Index):
        return k.values()
    return np.asarray(int(k))
