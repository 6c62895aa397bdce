"""What is known of a value in the body of a function that is followed (:mod:`.bodies`)."""

from __future__ import annotations

from dataclasses import dataclass

from ..expr.values import Value
from .classes import Class


@dataclass(frozen=True)
class Text(Value):
    """An expression of the caller's."""

    text: str


@dataclass(frozen=True)
class Known(Value):
    """``None``, a flag, a number or a string that the source shows."""

    value: object


@dataclass(frozen=True)
class Thing(Value):
    """An object of a class of the program, and how the caller writes it. ``there``: it is certainly not ``None``."""

    text: str
    cls: Class
    there: bool = False


@dataclass(frozen=True)
class ClassItself(Value):
    """A class under its own name or as ``cls``."""

    cls: Class


class Undecided(Exception):
    """The body does not tell what it returns; the text says why."""
