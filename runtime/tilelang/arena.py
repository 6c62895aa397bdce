"""Shared memory as TileLang's compiler lays it out: a port of its ``MergeSharedMemoryAllocations`` (LinearScanPack).

With reuse, buffers live from the first to the last statement of the kernel's body that touches them, and are placed
in the order of their first: best fit in a list of free blocks that coalesce, else the block that ends at the top, else
the top. Without reuse they follow each other by name.

Source: ``src/transform/merge_shared_memory_allocations.cc`` of the wheel 0.1.15 (Apache 2.0 and MIT).
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections.abc import Sequence

from ..plan import Alloc, Plan, aligned

ALIGN = 16


def packed(allocs: Sequence[Alloc]) -> dict[str, int]:
    """The byte offset of each buffer of one arena, reusing bytes of those that no longer live."""
    active: list[tuple[int, int, int, int]] = []
    free = _Free()
    top = 0
    offsets: dict[str, int] = {}
    for number, alloc in enumerate(sorted(allocs, key=lambda a: (a.live[0], -a.bytes, a.name))):
        while active and active[0][0] <= alloc.live[0]:
            _, _, offset, size = heapq.heappop(active)
            free.give(offset, size)
        found = free.best(alloc.bytes, alloc.align)
        if found is None:
            found = free.tail(alloc.align, top)
            if found is None:
                found = aligned(top, alloc.align)
                free.give(top, found - top)
            top = found + alloc.bytes
        heapq.heappush(active, (alloc.live[1], number, found, alloc.bytes))
        offsets[alloc.name] = found
    return offsets


def sequential(allocs: Sequence[Alloc]) -> dict[str, int]:
    """The byte offset of each buffer of one arena when none has the bytes of another."""
    cursor, offsets = 0, {}
    for alloc in sorted(allocs, key=lambda a: a.name):
        cursor = aligned(cursor, alloc.align)
        offsets[alloc.name] = cursor
        cursor += alloc.bytes
    return offsets


def total(plan: Plan, scope: str) -> int:
    """The bytes that a launch asks for: the top of an arena, rounded up."""
    return aligned(max((alloc.end or 0 for alloc in plan.of(scope)), default=0), ALIGN)


class _Free:
    """Free blocks, by offset, none of which touches the next."""

    def __init__(self) -> None:
        self._blocks: list[tuple[int, int]] = []

    def best(self, size: int, align: int) -> int | None:
        """Take ``size`` bytes of the block that is least too large; the first offset that is aligned in it."""
        found, waste = -1, 0
        for number, (offset, length) in enumerate(self._blocks):
            head = aligned(offset, align) - offset
            if length - head >= size and head <= length and (found < 0 or length - size < waste):
                found, waste = number, length - size
        if found < 0:
            return None
        offset, length = self._blocks.pop(found)
        start = aligned(offset, align)
        self.give(start + size, offset + length - start - size)
        self.give(offset, start - offset)
        return start

    def tail(self, align: int, top: int) -> int | None:
        """Take the block that ends at ``top``, which grows; the first offset that is aligned in it."""
        if not self._blocks or sum(self._blocks[-1]) != top:
            return None
        offset, _ = self._blocks[-1]
        start = aligned(offset, align)
        if start >= top:
            return None
        self._blocks.pop()
        self.give(offset, start - offset)
        return start

    def give(self, offset: int, size: int) -> None:
        """Add a block, one with those that it touches."""
        if not size:
            return
        at = bisect_left(self._blocks, (offset, 0))
        self._blocks.insert(at, (offset, size))
        if at + 1 < len(self._blocks) and offset + size >= self._blocks[at + 1][0]:
            end = max(offset + size, sum(self._blocks.pop(at + 1)))
            self._blocks[at] = (offset, end - offset)
        if at and sum(self._blocks[at - 1]) >= self._blocks[at][0]:
            start, length = self._blocks[at - 1]
            end = max(start + length, sum(self._blocks.pop(at)))
            self._blocks[at - 1] = (start, end - start)
