"""A kernel as its planner sees it: buffers, and a linear list of the statements that touch them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Pool:
    """A memory pool of the seed: ``size`` bytes of ``space`` in blocks of ``block`` bytes."""

    name: str
    space: str
    size: int
    block: int
    line: int


@dataclass(frozen=True)
class Buffer:
    """One allocation: its name, memory, shape, type and size, and its place (``line`` from 1, ``column`` from 0).

    ``call`` is the function that made it (``alloc_ub``). ``align`` is what the kernel asks for, 1 where it asks for
    nothing. ``address`` is that of ``T.annotate_address``. ``pool`` names the pool that it came from. ``order`` is its
    place among the allocations that begin in this line.
    """

    name: str
    space: str
    shape: tuple[int, ...]
    dtype: str
    nbytes: int
    line: int
    column: int = 0
    call: str = "alloc_ub"
    align: int = 1
    address: int | None = None
    pool: str | None = None
    order: int = 0


@dataclass(frozen=True)
class Touch:
    """What one statement does with one buffer. ``whole``: it overwrites all of it and reads nothing of it."""

    buffer: str
    reads: bool
    writes: bool
    whole: bool = False


@dataclass(frozen=True)
class Entry:
    """One entry of the linear statement list.

    ``kind`` is ``"touch"``, ``"open"`` or ``"close"``; the two ends of one scope have the same ``statement``. ``level``
    counts the loops around it, that of a loop's own ends included. ``loop``: the scope may run again (or not at all);
    a scope that is no loop is one side of a condition (``branch``; ``otherwise``: the other side of the scope right
    before it) or a plain block. ``sure``: a loop that runs at
    least once. ``allocs`` and ``frees`` are the buffers that the kernel declares and releases here. ``covers``, on the
    opening of a loop, are the buffers that the loop as a whole overwrites before it reads them.
    """

    kind: str
    statement: int
    level: int
    line: int
    touches: tuple[Touch, ...] = ()
    loop: bool = False
    branch: bool = False
    sure: bool = False
    allocs: tuple[str, ...] = ()
    frees: tuple[str, ...] = ()
    covers: tuple[str, ...] = ()
    otherwise: bool = False


@dataclass(frozen=True)
class Program:
    """A kernel: its name, its buffers in declaration order, its statements, its pools.

    ``notes`` are (line, text): what a reader should know of what was read. ``annotated`` is the first line of its
    ``T.annotate_address``, 0 without one.
    """

    name: str
    buffers: tuple[Buffer, ...]
    entries: tuple[Entry, ...]
    pools: tuple[Pool, ...] = ()
    notes: tuple[tuple[int, str], ...] = ()
    annotated: int = 0

    def buffer(self, name: str) -> Buffer:
        """The buffer called ``name``; raises ``KeyError``."""
        for buffer in self.buffers:
            if buffer.name == name:
                return buffer
        raise KeyError(name)

    def loops(self) -> Iterator[tuple[int, int]]:
        """The first and the last entry of each loop."""
        opened: list[int] = []
        for index, entry in enumerate(self.entries):
            if entry.kind == "open":
                opened.append(index)
            elif entry.kind == "close":
                begin = opened.pop()
                if entry.loop:
                    yield begin, index
