"""Scalar registers."""

from __future__ import annotations

from typing import Any

from ..errors import KernelError


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


class FrozenRegister(Register):
    """The variable of a loop on chip (from 0.4 on): it counts, and nothing else may write it."""

    __slots__ = ()

    def set(self, value: int) -> None:
        raise KernelError("", "the variable of a loop on chip cannot be written")


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


def register_of(value: object) -> Register:
    if not isinstance(value, Register):
        raise KernelError("", "expecting register value")
    return value
