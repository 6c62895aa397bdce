"""``neuronxcc.nki.typing``: annotations of parameters and of assignments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Annotation:
    """``nt.tensor[128, 512]`` (checked where it annotates an assignment) or ``nt.mutable_tensor``."""

    shape: tuple[int, ...] | None = None
    mutable: bool = False

    def __getitem__(self, shape: Any) -> Annotation:
        items = shape if isinstance(shape, tuple) else (shape,)
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
