"""Loops cut short, for kernels whose sizes are numbers of their source and whose every loop would run for minutes.

The NKI loops of an abridged run take their first two steps and their last, in both versions of a kernel: as many as a
case with small sizes has, and the ends of each range. Loops of Python, those that NKI unrolls and programs of a grid
run whole, since Python state may depend on how often they do. Where a kernel reads what all steps of some loops have
written (a row in chunks), only loops of more than a number of steps are cut short, or only those of certain numbers of
steps (its heads).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

STEPS = 3
"""The steps that a loop takes which is cut short: its first two and its last."""
_longest = 0
"""How many steps a loop takes at most that runs whole; 0 in a run that is not abridged so."""
_only: frozenset[int] = frozenset()
"""How many steps the loops have that alone are cut short; empty in a run that is not abridged so."""
_probes = False
"""Does the run only tell how far a case comes?"""


@contextmanager
def abridged(loops: int | tuple[int, ...] = STEPS) -> Iterator[None]:
    """Within, loops of NKI of more than so many steps are cut short (of more than 3, if it is less); 0: none is.

    Of several numbers: only loops of one of these.
    """
    global _longest, _only
    before = _longest, _only
    _only = frozenset(loops) if isinstance(loops, tuple) else frozenset()
    _longest = max(loops, STEPS) if isinstance(loops, int) and loops else 0
    try:
        yield
    finally:
        _longest, _only = before


@contextmanager
def probing(probes: bool) -> Iterator[None]:
    """Within, a run only tells how far a case comes: nobody asks for its layout, or for how its instructions follow."""
    global _probes
    before, _probes = _probes, probes
    try:
        yield
    finally:
        _probes = before


def is_probe() -> bool:
    """Does the run only tell how far a case comes?"""
    return _probes


def makes_all_blocks() -> bool:
    """Are all blocks of a tensor made, whether they are used or not? The steps that are left out would use them."""
    return (_longest > 0 or bool(_only)) and not _probes


def steps(values: range) -> Sequence[int]:
    """The steps that a loop over ``values`` takes."""
    count = len(values)
    is_cut = count in _only if _only else 0 < _longest < count
    if not is_cut or count <= STEPS:
        return values
    return (*values[: STEPS - 1], values[-1])
