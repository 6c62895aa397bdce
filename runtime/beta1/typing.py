"""``neuronxcc.nki.typing``: annotations of parameters and of assignments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

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


mutable_tensor = Annotation(mutable=True)
mutable = mutable_tensor
scalar = Annotation((1, 1))


def is_mutable(annotation: Any) -> bool:
    """Does the annotation of a parameter allow the kernel to write to it?"""
    if isinstance(annotation, str):
        return "mutable" in annotation
    return isinstance(annotation, Annotation) and annotation.mutable
