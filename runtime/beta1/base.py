"""What all tensors of a Beta 1 kernel have in common: attributes and operators."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np

from ..errors import KernelError, NotModelled
from ..session import RUNNING
from ..source import asked_by_while
from .state import State, state
from .tokens import Buffer
from .typing import Annotation

Shape = tuple[int, ...]


class Tensor:
    """What all tensors have in common: attributes, views, and operators."""

    __slots__ = ()
    __array_ufunc__ = None
    shape: Shape
    dtype: np.dtype[Any]
    buffer: Buffer

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    def assert_shape(self, shape: Any) -> Tensor:
        """Return the tensor, or raise when its shape is not ``shape``."""
        if tuple(self.shape) != tuple(shape):
            raise KernelError("", f"tensor has shape {tuple(self.shape)}, expected {tuple(shape)}")
        return self

    def __class_getitem__(cls, shape: Any) -> Any:
        """``nt.tensor[128, 512]``: an annotation that is checked; with a type, the description of an argument."""
        return Annotation()[shape]

    def as_tile(self) -> Any:
        """The tensor as the one tile that it is; raises where it is none."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[Any]:
        raise NotModelled("iterating over a tensor")

    def __array__(self, *args: object, **kwargs: object) -> Any:
        raise NotModelled("a tensor passed to a numpy function")

    def __bool__(self) -> bool:
        if asked_by_while():
            raise KernelError(
                "err_while_loop_requires_unconditional_entry",
                "Traditional while loops are not supported - use do-while pattern instead.",
            )
        if prod(self.shape) == 1:
            raise KernelError(
                "err_dynamic_control_flow_not_supported",
                "dynamic control-flow depending on tensor value is not supported.",
            )
        raise KernelError(
            "err_ambiguous_tensor_truth_value",
            "The truth value of an array with more than one element is ambiguous",
        )

    __hash__ = object.__hash__

    def _binary(self, op: str, other: Any, swapped: bool = False) -> Any:
        x, y = (other, self) if swapped else (self, other)
        running = RUNNING.get()  # state(), without a call
        current = state() if running is None or type(running.front) is not State else running.front
        return current.operators.result(op, x, y)

    def __add__(self, other: Any) -> Any:
        return self._binary("add", other)

    def __radd__(self, other: Any) -> Any:
        return self._binary("add", other, True)

    def __sub__(self, other: Any) -> Any:
        return self._binary("subtract", other)

    def __rsub__(self, other: Any) -> Any:
        return self._binary("subtract", other, True)

    def __mul__(self, other: Any) -> Any:
        return self._binary("multiply", other)

    def __rmul__(self, other: Any) -> Any:
        return self._binary("multiply", other, True)

    def __truediv__(self, other: Any) -> Any:
        return self._binary("divide", other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._binary("divide", other, True)

    def __pow__(self, other: Any) -> Any:
        return self._binary("power", other)

    def __rpow__(self, other: Any) -> Any:
        return self._binary("power", other, True)

    def __mod__(self, other: Any) -> Any:
        return self._binary("mod", other)

    def __rmod__(self, other: Any) -> Any:
        return self._binary("mod", other, True)

    def __and__(self, other: Any) -> Any:
        return self._binary("bitwise_and", other)

    __rand__ = __and__

    def __or__(self, other: Any) -> Any:
        return self._binary("bitwise_or", other)

    __ror__ = __or__

    def __xor__(self, other: Any) -> Any:
        return self._binary("bitwise_xor", other)

    __rxor__ = __xor__

    def __lshift__(self, other: Any) -> Any:
        return self._binary("left_shift", other)

    def __rshift__(self, other: Any) -> Any:
        return self._binary("right_shift", other)

    def __lt__(self, other: Any) -> Any:
        return self._binary("less", other)

    def __le__(self, other: Any) -> Any:
        return self._binary("less_equal", other)

    def __gt__(self, other: Any) -> Any:
        return self._binary("greater", other)

    def __ge__(self, other: Any) -> Any:
        return self._binary("greater_equal", other)

    def __eq__(self, other: Any) -> Any:
        return False if other is None else self._binary("equal", other)

    def __ne__(self, other: Any) -> Any:
        return True if other is None else self._binary("not_equal", other)

    def __neg__(self) -> Any:
        return state().operators.negated(self)

    def __invert__(self) -> Any:
        return state().operators.inverted(self)

    def __iadd__(self, other: Any) -> Any:
        running = RUNNING.get()  # as in _binary: what accumulates is executed again and again
        current = state() if running is None or type(running.front) is not State else running.front
        return current.operators.update(self, "add", other)

    def __isub__(self, other: Any) -> Any:
        return state().operators.update(self, "subtract", other)

    def __imul__(self, other: Any) -> Any:
        return state().operators.update(self, "multiply", other)

    def __itruediv__(self, other: Any) -> Any:
        return state().operators.update(self, "divide", other)
