"""What the planners of TileLang-Ascend take for the lifetime of a buffer: three of them, each with its history.

* ``base`` (commit 95acbd7): from the first touch to the last one in the text. A last touch that is in more loops than
  the first moves to the end of the first one's loop; other loops do not count, so a buffer that one loop writes and a
  second loop reads again and again dies inside of the second (upstream issue 1156).
* ``loop-aware`` (pull request 1234): as ``base``; a buffer first touched before a loop and last touched in it lives to
  the loop's end.
* ``scope-exit`` (pull request 1755): as ``loop-aware``; a lifetime that ends with a scope ends where the scope closes.
  The other two take the place where it opens, because both ends are one statement to them (upstream issue 1765).

Indices are those of the entries; a lifetime is ``[first, last]``, both included. The C++ keeps its events in a hash
table, whose order decides some of its ties; here they are in the order of the text.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from .model import Program

LIFETIMES = ("base", "loop-aware", "scope-exit")


def lifetimes(program: Program, planner: str = "scope-exit") -> Mapping[str, tuple[int, int]]:
    """The first and the last entry at which ``planner`` takes each buffer to live; a buffer without a use is left out.

    A lifetime may end before it begins: that is upstream issue 1765, and what the planner then works with.
    """
    if planner not in LIFETIMES:
        raise ValueError(f"no planner is called '{planner}': there are {', '.join(LIFETIMES)}")
    first, last = _first_and_last(program)
    events = {index for index, entry in enumerate(program.entries) if entry.touches}
    events = {i for i in events if i in first.values() or i in last.values()}
    found: dict[str, tuple[int, int]] = {}
    for name, begin in first.items():
        end = _moved(program, begin, last[name], sorted(events))
        end = end if planner == "scope-exit" else _opening(program, end)
        if planner != "base":
            end = _extended(program, name, begin, end)
        found[name] = (begin, end)
    return found


def _first_and_last(program: Program) -> tuple[dict[str, int], dict[str, int]]:
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for index, entry in enumerate(program.entries):
        for touch in entry.touches:
            first.setdefault(touch.buffer, index)
            last[touch.buffer] = index
    return first, last


def _moved(program: Program, begin: int, end: int, events: list[int]) -> int:
    """The last touch, moved out of the loops that the first touch is not in (``ReorderKillPoints``)."""
    level = program.entries[begin].level
    if program.entries[end].level <= level:
        return end
    behind = [index for index in events if index >= end]
    for index, following in pairwise(behind):
        if program.entries[following].level == level - 1:
            return index
    return behind[-1] if behind else end


def _opening(program: Program, end: int) -> int:
    """Where the scope that closes at ``end`` opens; ``end`` where none does."""
    entry = program.entries[end]
    if entry.kind != "close":
        return end
    return next(i for i, other in enumerate(program.entries) if other.statement == entry.statement)


def _extended(program: Program, name: str, begin: int, end: int) -> int:
    """The end of the outermost loop that ``begin`` is before and ``end`` is in (``ExtendKillIndex``)."""
    ends = [close for opening, close in program.loops() if begin < opening <= end < close]
    ends = [
        close
        for opening, close in program.loops()
        if close in ends and any(name == t.buffer for e in program.entries[opening + 1 : close] for t in e.touches)
    ]
    return max([end, *ends])
