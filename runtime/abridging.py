"""Loops cut short, for kernels whose sizes are numbers of their source and whose every loop would run for minutes.

The NKI loops of an abridged run take their first two steps and their last, in both versions of a kernel: as many as a
case with small sizes has, and the ends of each range. Loops of Python, those that NKI unrolls and programs of a grid
run whole, since Python state may depend on how often they do. Where a kernel reads what all steps of its shorter loops
have written (a row in chunks), only loops of more than a number of steps are cut short.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

_STEPS = 3
_longest = 0
"""How many steps a loop takes at most that runs whole; 0 in a run that is not abridged."""


@contextmanager
def abridged(longest: int = _STEPS) -> Iterator[None]:
    """Within, loops of NKI of more than ``longest`` steps are cut short (of more than 3, if it is less); 0: none is."""
    global _longest
    before, _longest = _longest, max(longest, _STEPS) if longest else 0
    try:
        yield
    finally:
        _longest = before


def is_abridged() -> bool:
    """Are loops cut short?"""
    return _longest > 0


def steps(values: range) -> Sequence[int]:
    """The steps that a loop over ``values`` takes."""
    if not _longest or len(values) <= _longest:
        return values
    return (*values[: _STEPS - 1], values[-1])
