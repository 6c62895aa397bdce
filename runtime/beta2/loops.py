"""Loops that run on chip."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..errors import KernelError
from . import state, values
from .registers import FrozenRegister, Register
from .signature import builtin
from .tensor import NkiTensor, element


def dynamic_range(start: object, stop: object = None, step: object = 1) -> Iterator[Register]:
    """``nl.dynamic_range``: a loop on chip. Bounds are registers, one-element tensors or integers; the index is a
    register."""
    first, last = (0, start) if stop is None else (start, stop)
    stride = values.natural(step)
    if stride == 0:
        raise KernelError("", "dynamic_range step must be a positive compile-time integer")
    at, end = _bound(first), _bound(last)
    while at < end:
        yield FrozenRegister(at) if state.rules().frozen_indices else Register(at)
        at += stride


@builtin("nki.language")
def fori_loop(lower: Any, upper: Any, body_fun: Any, step: Any = 1) -> None:
    """Call ``body_fun`` with each index of a loop on chip; the index is a register, passed by value."""
    if isinstance(step, (Register, NkiTensor)) or values.integer(step) < 1:
        raise KernelError("", "fori_loop: step must be a positive compile-time integer")
    at, end = _limit(lower, "lower"), _limit(upper, "upper")
    while at < end:
        if _called(body_fun, at) is not None:
            raise KernelError("", "fori_loop: the body cannot return a value")
        at += values.integer(step)


@builtin("nki.language")
def while_loop(init: Any, body_fun: Any) -> None:
    """Call ``body_fun`` with the condition, a register, as long as that is not 0; it returns the next condition."""
    content = _limit(init, "init")
    while content:
        following = _called(body_fun, content)
        if not isinstance(following, Register):
            raise KernelError("", f"while_loop: the body returns the next condition, a register, not {following!r}")
        content = following.content


def _called(body: Callable[..., Any], content: int) -> Any:
    if not callable(body):
        raise KernelError("", f"the body of a loop is a function, not '{values.kind(body)}'")
    return body(Register(content))


def _limit(value: object, role: str) -> int:
    if isinstance(value, NkiTensor):
        raise KernelError("", f"{role} of a loop on chip is an integer or a register: load the tensor into one")
    return _bound(value)


def _bound(value: object) -> int:
    if isinstance(value, Register):
        return value.content
    if isinstance(value, NkiTensor):
        return element(value)
    return values.integer(value)
