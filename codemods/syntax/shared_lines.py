"""What lines two versions of a text share: one way for diffs, reports and the places of findings."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from difflib import Match, SequenceMatcher
from typing import TypeVar

_Line = TypeVar("_Line", bound=Hashable)


def line_matcher(old: Sequence[_Line], new: Sequence[_Line]) -> SequenceMatcher[_Line]:
    """A matcher of lines whose blocks, opcodes and groups are those of a patience diff.

    Lines that both texts have once are matched first, what stands between two of them by ``difflib``. ``difflib`` alone
    takes time that grows with the square of a line's occurrences; with ``autojunk`` it counts such a line as different.
    """
    return _LineMatcher(old, new)


class _LineMatcher(SequenceMatcher[_Line]):
    def __init__(self, old: Sequence[_Line], new: Sequence[_Line]) -> None:
        super().__init__(None, old, new, autojunk=False)
        self._blocks = [*_joined(_blocks(old, new)), Match(len(old), len(new), 0)]

    def get_matching_blocks(self) -> list[Match]:
        return self._blocks


def _blocks(old: Sequence[_Line], new: Sequence[_Line]) -> Iterator[Match]:
    """The blocks that both share, in order, not joined yet."""
    i = j = 0
    for i2, j2 in (*_anchors(old, new), (len(old), len(new))):
        yield from _between(old, new, i, i2, j, j2)
        if i2 < len(old) and j2 < len(new):
            yield Match(i2, j2, 1)
        i, j = i2 + 1, j2 + 1


def _between(old: Sequence[_Line], new: Sequence[_Line], i: int, i2: int, j: int, j2: int) -> Iterator[Match]:
    """The blocks of ``old[i:i2]`` and ``new[j:j2]``: their common start and end, and what ``difflib`` finds inside."""
    start = 0
    while i + start < i2 and j + start < j2 and old[i + start] == new[j + start]:
        start += 1
    end = 0
    while i2 - end > i + start and j2 - end > j + start and old[i2 - end - 1] == new[j2 - end - 1]:
        end += 1
    yield Match(i, j, start)
    inner_old, inner_new = old[i + start : i2 - end], new[j + start : j2 - end]
    if inner_old and inner_new:
        for a, b, size in SequenceMatcher(None, inner_old, inner_new, autojunk=False).get_matching_blocks():
            yield Match(i + start + a, j + start + b, size)
    yield Match(i2 - end, j2 - end, end)


def _anchors(old: Sequence[_Line], new: Sequence[_Line]) -> list[tuple[int, int]]:
    """The places of lines that both have once, the most that stand in the same order in both."""
    once = _once(new)
    pairs = [(i, once[line]) for line, i in _once(old).items() if line in once]
    # The longest increasing run of places in ``new``: where the best run of each length ends, and what went before.
    lasts: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for index, (_i, j) in enumerate(pairs):
        length = bisect_left(lasts, j)
        lasts[length : length + 1] = [j]
        ends[length : length + 1] = [index]
        before.append(ends[length - 1] if length else -1)
    run: list[tuple[int, int]] = []
    index = ends[-1] if ends else -1
    while index >= 0:
        run.append(pairs[index])
        index = before[index]
    return run[::-1]


def _once(lines: Sequence[_Line]) -> dict[_Line, int]:
    counts = Counter(lines)
    return {line: index for index, line in enumerate(lines) if counts[line] == 1}


def _joined(blocks: Iterator[Match]) -> Iterator[Match]:
    """The blocks without empty ones, those that touch as one."""
    current = Match(0, 0, 0)
    for block in blocks:
        if not block.size:
            continue
        if (current.a + current.size, current.b + current.size) == (block.a, block.b):
            current = Match(current.a, current.b, current.size + block.size)
            continue
        if current.size:
            yield current
        current = block
    if current.size:
        yield current
