"""Where buffers hold values that are still needed: a backward analysis over the statement list, loops included.

A buffer is live at an entry that touches it, and wherever a value that was written may still be read. A write of a
part kills nothing. A loop may be skipped unless it is known to run, and its end flows back to its beginning: a value
that the next iteration reads first lives through the whole loop. What the planners take for lifetimes
(:mod:`.lifetimes`) is not this, which is how their mistakes are found.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .model import Entry, Program

Names = frozenset[str]


@dataclass(frozen=True)
class _Scope:
    """The entries between an opening and its close: items are entry indices and inner scopes."""

    opening: int
    closing: int
    items: tuple[int | _Scope, ...]


def live_steps(program: Program) -> Mapping[str, frozenset[int]]:
    """The entries at which each buffer is live; a buffer without a use has none."""
    entries = program.entries
    live: list[Names] = [frozenset()] * len(entries)
    _backward(_scopes(entries), frozenset(), entries, live)
    reached = _reached(entries)
    found: dict[str, set[int]] = {buffer.name: set() for buffer in program.buffers}
    for index, entry in enumerate(entries):
        touched = {touch.buffer for touch in entry.touches}
        for name in (live[index] & reached[index]) | touched:
            found.setdefault(name, set()).add(index)
    return {name: frozenset(steps) for name, steps in found.items()}


def conflicts(program: Program) -> frozenset[frozenset[str]]:
    """The pairs of buffers that are live at one entry: they must not share bytes."""
    steps = live_steps(program)
    names = sorted(steps)
    return frozenset(frozenset((a, b)) for i, a in enumerate(names) for b in names[i + 1 :] if steps[a] & steps[b])


def _scopes(entries: tuple[Entry, ...]) -> tuple[int | _Scope, ...]:
    stack: list[tuple[int, list[int | _Scope]]] = [(-1, [])]
    for index, entry in enumerate(entries):
        if entry.kind == "open":
            stack.append((index, []))
        elif entry.kind == "close":
            opening, items = stack.pop()
            stack[-1][1].append(_Scope(opening, index, tuple(items)))
        else:
            stack[-1][1].append(index)
    return tuple(stack[0][1])


def _backward(items: tuple[int | _Scope, ...], after: Names, entries: tuple[Entry, ...], live: list[Names]) -> Names:
    """The buffers that are needed before ``items``, given those needed behind them; ``live`` is filled in."""
    left = list(items)
    while left:
        item = left.pop()
        if isinstance(item, int):
            after = _before_entry(entries[item], after)
            live[item] |= after
        elif entries[item.opening].otherwise and left and isinstance(left[-1], _Scope):
            sides = (left.pop(), item)  # one of the two runs: what both overwrite is not needed before them
            after = frozenset().union(*(_before_side(side, after, entries, live) for side in sides))
        else:
            after = _before_scope(item, after, entries, live)
    return after


def _before_side(side: int | _Scope, after: Names, entries: tuple[Entry, ...], live: list[Names]) -> Names:
    """The buffers that are needed before one side of a condition that has two."""
    assert isinstance(side, _Scope)
    at_end = _before_entry(entries[side.closing], after)
    live[side.closing] |= at_end
    before = _backward(side.items, at_end, entries, live)
    live[side.opening] |= before
    return before


def _before_entry(entry: Entry, after: Names) -> Names:
    killed = {touch.buffer for touch in entry.touches if touch.whole}
    read = {touch.buffer for touch in entry.touches if touch.reads}
    return (after - killed) | read


def _before_scope(scope: _Scope, after: Names, entries: tuple[Entry, ...], live: list[Names]) -> Names:
    opening, closing = entries[scope.opening], entries[scope.closing]
    covered = frozenset(opening.covers)
    at_end = _before_entry(closing, after)
    live[scope.closing] |= at_end
    before = _backward(scope.items, at_end, entries, live)
    if opening.loop:
        while True:
            again = _backward(scope.items, at_end | (before - covered), entries, live)
            if again == before:
                break
            before = again
    before -= covered
    if opening.branch or (opening.loop and not opening.sure):
        before |= at_end
    before |= {touch.buffer for touch in opening.touches if touch.reads}
    live[scope.opening] |= before
    return before


def _reached(entries: tuple[Entry, ...]) -> list[Names]:
    """For each entry the buffers that something may have been written to before it."""
    loops: list[int] = []
    spans: dict[int, int] = {}
    for index, entry in enumerate(entries):
        if entry.kind == "open":
            loops.append(index)
        elif entry.kind == "close":
            spans[loops.pop()] = index
    found: list[set[str]] = []
    so_far: set[str] = set()
    for entry in entries:
        found.append(set(so_far))
        so_far |= {touch.buffer for touch in entry.touches if touch.writes}
    for opening, closing in spans.items():
        if entries[opening].loop:
            inside = {t.buffer for e in entries[opening : closing + 1] for t in e.touches if t.writes}
            for index in range(opening + 1, closing + 1):
                found[index] |= inside
    return [frozenset(names) for names in found]
