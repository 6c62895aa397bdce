"""Loops that run on chip."""

from __future__ import annotations

from collections.abc import Iterator

from ..errors import KernelError
from . import values
from .registers import Register
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
        yield Register(at)
        at += stride


def _bound(value: object) -> int:
    if isinstance(value, Register):
        return value.content
    if isinstance(value, NkiTensor):
        return element(value)
    return values.integer(value)
