"""Scalar registers and the loops that run on chip."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..errors import KernelError
from ..memory import Array
from . import values
from .tensor import NkiTensor


class Register:
    """A 32-bit scalar register. Its value exists on chip only: kernels branch and loop on it, they cannot compute
    with it."""

    __slots__ = ("content",)

    kind_name = "scalar"

    def __init__(self, value: int) -> None:
        self.content = int32(value)

    def set(self, value: int) -> None:
        self.content = int32(value)

    def __bool__(self) -> bool:
        return self.content != 0

    def __repr__(self) -> str:
        return f"register({self.content})"


def _refuse(self: Register, *other: object) -> Any:
    raise KernelError(
        "", "unimplemented operator on a register: store it in a tensor, compute with nki.isa and load it again"
    )


for _operator in (
    "add sub mul truediv floordiv mod pow and or xor lshift rshift radd rsub rmul rtruediv rfloordiv rmod rpow "
    "rand ror rxor rlshift rrshift lt le gt ge neg pos invert abs int index"
).split():
    setattr(Register, f"__{_operator}__", _refuse)


def int32(value: int) -> int:
    """``value`` wrapped to 32 bits, as a register holds it."""
    return (value + 2**31) % 2**32 - 2**31


def one_element(tensor: NkiTensor) -> Array:
    """The array of a tensor that has exactly one element, of an integer type."""
    array = tensor.resolved().array
    if array.size != 1:
        raise KernelError("", f"a register holds one element, the tensor has shape {tensor.shape}")
    if array.dtype.kind not in "iub":
        raise KernelError("", f"a register holds an integer, the tensor is {array.dtype.name}")
    return array


def element(tensor: NkiTensor) -> int:
    """The one element of ``tensor`` as an integer."""
    return int(one_element(tensor).reshape(-1)[0])


def register_of(value: object) -> Register:
    if not isinstance(value, Register):
        raise KernelError("", "expecting register value")
    return value


def dynamic_range(start: object, stop: object = None, step: object = 1) -> Iterator[Register]:
    """``nl.dynamic_range``: a loop on chip. Bounds are registers, one-element tensors or integers; the index is a
    register."""
    first, last = (0, start) if stop is None else (start, stop)
    stride = values.natural(step)
    if stride == 0:
        raise KernelError("", "dynamic_range step must be a positive compile-time integer")
    at, end = _bound(first), _bound(last)
    while at < end:
        yield Register(at)
        at += stride


def _bound(value: object) -> int:
    if isinstance(value, Register):
        return value.content
    if isinstance(value, NkiTensor):
        return element(value)
    return values.integer(value)
