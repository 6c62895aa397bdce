"""``neuronxcc.nki.typing``: annotations of parameters and of assignments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import KernelError, NotModelled
from .tokens import dtype_of


@dataclass(frozen=True)
class TensorSpec:
    """``nt.tensor[[8192, 4096], nl.bfloat16]``: an argument of ``nki.benchmark`` whose values do not matter."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]


@dataclass(frozen=True)
class Annotation:
    """``nt.tensor[128, 512]`` (checked where it annotates an assignment) or ``nt.mutable_tensor``."""

    shape: tuple[int, ...] | None = None
    mutable: bool = False

    def __getitem__(self, shape: Any) -> Any:
        items = shape if isinstance(shape, tuple) else (shape,)
        if len(items) == 2 and isinstance(items[0], (tuple, list)):
            return TensorSpec(tuple(int(n) for n in items[0]), dtype_of(items[1]))
        if not all(isinstance(n, int) or hasattr(n, "__index__") for n in items):
            return self
        return Annotation(tuple(int(n) for n in items), self.mutable)

    def __call__(self, value: Any) -> Any:
        """``nt.mutable(x)`` marks, and changes nothing."""
        return value

    def __or__(self, other: Any) -> Any:
        return self

    __ror__ = __or__


@dataclass(frozen=True)
class _Scalar(Annotation):
    """``nt.scalar`` annotates a tile of one element; ``nt.scalar(tile)`` bounds a loop by the number in it."""

    shape: tuple[int, ...] | None = (1, 1)

    def __call__(self, value: Any) -> Any:
        if not hasattr(value, "as_tile"):
            return value
        found = value.as_tile().array
        if found.size != 1:
            raise KernelError("", f"nt.scalar takes a tile of one element, got {list(found.shape)}")
        return RuntimeBound(int(found.reshape(())))


class RuntimeBound:
    """The trip count of a loop that runs on the chip (``range(nt.scalar(tile))``): no number of Python's.

    ``varlen_attention_kernel.py`` of nki-samples runs over the tiles of a plan so.
    """

    __slots__ = ("value",)

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        raise NotModelled("a loop or a subscript of Python's over a number that only the chip knows")


mutable_tensor = Annotation(mutable=True)
mutable = mutable_tensor
scalar = _Scalar()


def is_mutable(annotation: Any) -> bool:
    """Does the annotation of a parameter allow the kernel to write to it?"""
    if isinstance(annotation, str):
        return "mutable" in annotation
    return isinstance(annotation, Annotation) and annotation.mutable
