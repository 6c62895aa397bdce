"""Loops cut short, for kernels whose sizes are numbers of their source and whose every loop would run for minutes.

The NKI loops of an abridged run take their first two steps and their last, in both versions of a kernel: as many as a
case with small sizes has, and the ends of each range. Loops of Python, those that NKI unrolls and programs of a grid
run whole, since Python state may depend on how often they do.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager

from .switches import Switch

_STEPS = 3
_ABRIDGED = Switch()


def abridged(wanted: bool = True) -> AbstractContextManager[None]:
    """Within, the loops of NKI are cut short, if that is ``wanted``."""
    return _ABRIDGED.turned(wanted)


def is_abridged() -> bool:
    """Are loops cut short?"""
    return _ABRIDGED.is_on


def steps(values: range) -> Sequence[int]:
    """The steps that a loop over ``values`` takes."""
    if not _ABRIDGED.is_on or len(values) <= _STEPS:
        return values
    return (*values[: _STEPS - 1], values[-1])
