"""``nki.meta.tensor``: small tensors that exist while the kernel is compiled, to become constants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import KernelError
from ..memory import Array
from . import values
from .signature import builtin


class TraceTensor:
    """A tensor known at compile time; it takes ``+ - * /`` with numbers and ``+ -`` with its like."""

    kind_name = "tensor"

    def __init__(self, data: Array) -> None:
        self.data = data

    @property
    def shape(self) -> tuple[int, ...]:
        return self.data.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.data.dtype

    def __bool__(self) -> bool:
        raise KernelError("", "The truth value of an array with more than one element is ambiguous")

    def _combined(self, other: object, operator: Callable[[Array, Any], Array], sign: str) -> TraceTensor:
        if isinstance(other, TraceTensor):
            if sign not in "+-":
                raise KernelError("", f"tensors do not support scalar operator '{sign}'")
            if other.shape != self.shape:
                raise KernelError("", f"tensors have different shapes {self.shape} {other.shape}")
            return TraceTensor(operator(self.data, other.data).astype(self.dtype))
        operand = np.asarray(values.number(other)).astype(self.dtype)
        return TraceTensor(operator(self.data, operand).astype(self.dtype))

    def __add__(self, other: object) -> TraceTensor:
        return self._combined(other, np.add, "+")

    def __sub__(self, other: object) -> TraceTensor:
        return self._combined(other, np.subtract, "-")

    def __mul__(self, other: object) -> TraceTensor:
        return self._combined(other, np.multiply, "*")

    def __truediv__(self, other: object) -> TraceTensor:
        return self._combined(other, np.true_divide if self.dtype.kind not in "iu" else np.floor_divide, "/")


@builtin("nki.meta.tensor")
def zeros(shape: Any, dtype: Any) -> TraceTensor:
    return TraceTensor(np.zeros(values.shape_of(shape), values.data_type(dtype)))


@builtin("nki.meta.tensor")
def arange(start: Any, stop: Any, step: Any = 1, dtype: Any = "float32") -> TraceTensor:
    """``start, start + step, ...`` below ``stop``, with shape (1, count)."""
    numbers = np.arange(values.natural(start), values.natural(stop), values.natural(step))
    return TraceTensor(numbers.astype(values.data_type(dtype))[None, :])


@builtin("nki.meta.tensor")
def identity(N: Any, dtype: Any = "float32") -> TraceTensor:
    size = values.natural(N)
    return TraceTensor(np.eye(size).astype(values.data_type(dtype)))


MEMBERS: dict[str, Any] = {"zeros": zeros, "arange": arange, "identity": identity, "TraceTimeTensor": TraceTensor}
