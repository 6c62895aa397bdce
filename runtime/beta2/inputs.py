"""The arrays that a launch is given, as tensors in HBM."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..memory import Array, Lent
from . import values


class Inputs:
    """The input tensors of one launch, which all of its programs see.

    An array that is as the tensor has to be, and shares no memory with another, is lent: a kernel that only reads it
    costs no copy. Any other one is copied.
    """

    def __init__(self) -> None:
        self._tensors: dict[str, tuple[Array, Lent | None]] = {}
        self._given: list[Array] = []

    def __enter__(self) -> Inputs:
        return self

    def __exit__(self, *_: object) -> None:
        for _tensor, lent in self._tensors.values():
            if lent is not None:
                lent.give_back()

    def tensor(self, name: str, value: Array) -> tuple[Array, Lent | None]:
        """The memory of the tensor ``name``, and who lends it."""
        if name not in self._tensors:
            dtype = values.data_type(value.dtype)
            if self._lends(value, dtype):
                lent = Lent(value)
                self._tensors[name] = lent.tensor, lent
            else:
                self._tensors[name] = np.array(value, dtype, order="C"), None
            self._given.append(value)
        return self._tensors[name]

    def _lends(self, value: Array, dtype: np.dtype[Any]) -> bool:
        flags = value.flags
        plain = type(value) is np.ndarray and value.dtype == dtype and flags.c_contiguous and flags.aligned
        return plain and flags.writeable and not any(np.may_share_memory(value, other) for other in self._given)
