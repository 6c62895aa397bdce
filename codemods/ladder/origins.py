"""Which line of the input each line of a text was, while edits are made."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import partial

from ..syntax.drafts import Edit
from ..syntax.shared_lines import line_matcher

Origin = Callable[[int], int]
Origins = tuple[int, ...]
"""For each line of a text (the first is number 0 here) the 1-based line of the input that it was."""


def unchanged(text: str) -> Origins:
    """The origins of the input itself."""
    return tuple(range(1, text.count("\n") + 2))


def matched(before: str, after: str) -> Origins:
    """The origins of the lines of ``after`` in ``before``, by their texts: new lines are those that they replace."""
    if before == after:
        return unchanged(before)
    old = [line.strip() for line in before.split("\n")]
    new = [line.strip() for line in after.split("\n")]
    found = [1] * len(new)
    for _tag, i1, i2, j1, j2 in line_matcher(old, new).get_opcodes():
        for j in range(j1, j2):
            found[j] = min(i1 + min(j - j1, max(i2 - i1 - 1, 0)) + 1, len(old))
    return tuple(found)


def edited(text: str, edits: Sequence[Edit], origins: Origins) -> Origins:
    """The origins of the lines of ``text`` with ``edits`` made, which do not overlap."""
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)

    def origin(offset: int) -> int:
        return origins[min(bisect_right(starts, offset) - 1, len(origins) - 1)]

    found: list[int] = []
    at = 0
    fresh = True  # does the next piece begin a line?
    for edit in sorted(edits, key=lambda each: (each.start, each.end, each.order)):
        fresh = _extended(found, text[at : edit.start], partial(_behind, origin, at), fresh)
        fresh = _extended(found, edit.text, partial(_at, origin, edit.start), fresh)
        at = max(at, edit.end)
    _extended(found, text[at:], partial(_behind, origin, at), fresh)
    return tuple(found)


def _behind(origin: Origin, start: int, offset: int) -> int:
    return origin(start + offset)


def _at(origin: Origin, start: int, offset: int) -> int:
    return origin(start)


def _extended(found: list[int], piece: str, origin: Origin, fresh: bool) -> bool:
    """Add the origins of the lines that a piece begins; is the line that it ends in blank so far?"""
    lines = piece.split("\n")
    offset = 0
    for number, line in enumerate(lines):
        if number or (fresh and not found):
            blank = len(line) - len(line.lstrip())
            found.append(origin(min(offset + blank, len(piece))))
        elif line.strip() and fresh:
            found[-1] = origin(offset)
        offset += len(line) + 1
    return not lines[-1].strip() if len(lines) > 1 else fresh and not lines[-1].strip()
