"""Reads of bytes that another tile has overwritten, and results that come from bytes which nothing ever wrote.

Every byte of every memory remembers the instruction that wrote it last, and for which tile. A tile that reads bytes
which it wrote, and another tile since, is *overwritten*. Bytes that nobody wrote for the tile may be read as long as
nothing comes of it: what an instruction computes from them is followed, and the hazard is that some of it is stored to
an output.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import chain
from math import prod

import numpy as np

from ..compare.correspondence import KEEPS_OLD_BYTES
from ..compare.hazard import Hazard
from ..compare.trace import HbmTensor, Program, TileRow
from ..events import Event, Operand
from . import flow
from .accesses import Memory, memory_of, owners, read, size, written
from .model import address, declared_at, executed_at, label, touched
from .shadow import NEVER, Grid, Marks, distinct, grid_of

SEVERAL = -2
"""Owner of bytes of which only some were written for another tile: no statement is made about them."""
NOBODY = -1


class _Memory:
    """The marks of one memory: which event wrote a granule last (counted from 1), and for which tile.

    A negative mark is a value that comes from bytes never written: minus the number of the event that read them. Most
    tiles are written as a whole first, and never have marks: these are made when they are asked for.
    """

    def __init__(self, grid: Grid) -> None:
        self.grid = grid

    @cached_property
    def writer(self) -> Marks:
        return self.grid.marks()

    @cached_property
    def owner(self) -> Marks:
        nobodys: Marks = self.grid.marks() + np.int32(NOBODY)
        return nobodys

    def write_all(self, mark: int, tile: int) -> None:
        """Mark all of the memory as written by one event, for one tile."""
        self.writer[...] = mark
        self.owner[...] = tile

    def defined_by(self, marks: Marks) -> bool:
        """Does the write of ``marks``, a view of those of ``writer``, leave none that says *never written*?"""
        return marks.size == self.writer.size and bool((self.writer > NEVER).all())

    def refined(self) -> _Memory:
        """The same with a mark for each element."""
        grid, (rows, columns) = self.grid.refined()
        fine = _Memory(grid)
        fine.writer, fine.owner = (np.repeat(np.repeat(m, rows, 0), columns, 1) for m in (self.writer, self.owner))
        return fine


class _Walk:
    """A program's instructions in order. ``shared``: its HBM tensors may be written by other programs.

    ``unseen`` are the tiles that an access writes which the marks do not show: of them nothing is said. ``complete``
    are the memories of one tile that were written as a whole, and hold nothing that comes from bytes never written:
    what is read from them is defined, whoever wrote it, and their marks are not kept. ``unmarked`` are those of them
    that one instruction wrote whole, which their marks do not say: its number and the tile.
    """

    def __init__(self, program: Program, shared: bool) -> None:
        self.program = program
        self.shared = shared
        self.tiles = owners(program)
        self.memories = _memories(program, self.tiles)
        self.first_written: dict[int, int] = {}
        self.unseen: set[int] = set()
        self.complete: set[Memory] = set()
        self.unmarked: dict[Memory, tuple[int, int]] = {}
        self.reads: dict[int, Operand] = {}
        self.found: list[Hazard] = []

    def hazards(self) -> list[Hazard]:
        for index, event in enumerate(self.program.events):
            undefined = [o for o in read(event) if self._reads_undefined(event, o)]
            roots = [(self._root(index, o), self._undefined(o), o) for o in undefined]
            self._write(index, event)
            for operand in written(event) if roots else ():
                for root, elements, source in roots:
                    reached = flow.reached(event, source, elements, operand)
                    if reached.any():
                        self._follow(event, operand, reached, root)
        return self.found

    # --- reads --------------------------------------------------------------------------------------------------------

    def _memory(self, operand: Operand) -> _Memory | None:
        memory = self.memories.get(memory_of(operand))
        return memory if memory is not None and memory.grid.holds(operand) else None

    def _is_complete(self, operand: Operand) -> bool:
        return not operand.pinned and memory_of(operand) in self.complete

    def _reads_undefined(self, event: Event, operand: Operand) -> bool:
        """Report what of a read was overwritten; does it also read bytes that were never written for its tile?"""
        if self._is_complete(operand):
            return False
        memory = self._memory(operand)
        if memory is None or not operand.used or operand.tile in self.program.untracked:
            return False
        if operand.tile in self.unseen or (operand.space == "hbm" and self.shared):
            return False
        exact = operand.exact and not flow.is_indexed(event, operand)
        enough: Callable[[flow.Elements], np.bool_] = np.any if exact else np.all
        undefined = memory.grid.view(memory.writer, operand) <= NEVER
        if operand.pinned:
            owner = memory.grid.view(memory.owner, operand)
            others = (owner != operand.tile) & (owner != SEVERAL)
            if enough(others):
                writer = np.abs(memory.grid.view(memory.writer, operand))
                since = others & (writer > self.first_written.get(operand.tile, len(self.program.events)) + 1)
                for uid in distinct(owner[since & (owner != NOBODY)]):
                    self._overwritten(event, operand, int(uid), int(writer[since & (owner == uid)].max()) - 1)
                undefined = undefined | (others & ~since)
        return bool(enough(undefined))

    def _overwritten(self, event: Event, operand: Operand, uid: int, index: int) -> None:
        tile, other = self.tiles[operand.tile], self.tiles[uid]
        # A mark of what comes from bytes never written names their reader: the writer is the last one before the read.
        marked = self.program.events[index]
        earlier = (each for each in reversed(self.program.events) if each.sequence < event.sequence)
        writers = ((each, o) for each in chain((marked,), earlier) for o in written(each) if o.tile == uid)
        wrote, place = next(writers)
        self.found.append(
            Hazard(
                "overwritten",
                f"'{label(tile)}' is read after '{label(other)}' has overwritten its bytes: "
                f"{address(tile)} and {address(other)}",
                (label(tile), label(other)),
                executed_at(wrote, f"writes '{label(other)}' at {touched(place, size(place))}"),
                executed_at(event, f"reads '{label(tile)}' at {touched(operand, size(operand))}"),
                "give the two tiles addresses that do not overlap, or more physical tiles to the one that lives longer",
            )
        )

    def _undefined(self, operand: Operand) -> flow.Elements:
        """Which elements of a read were never written for its tile, or come from such, in row-major order."""
        memory = self.memories[memory_of(operand)]
        if (memory.grid.view(memory.writer, operand) <= NEVER).all():
            return np.ones(prod(count for *_, count in operand.steps), np.bool_)
        at = memory.grid.coordinates(operand)
        found: flow.Elements = memory.writer[at] <= NEVER
        if operand.pinned:
            owner = memory.owner[at]
            found = found | ((owner != operand.tile) & (owner != SEVERAL))
        return found

    def _root(self, index: int, operand: Operand) -> int:
        """The number (from 1) of the first instruction that read the bytes which ``operand`` comes from."""
        memory = self.memories[memory_of(operand)]
        earliest = int(memory.grid.view(memory.writer, operand).min())
        if earliest < NEVER:
            return -earliest
        self.reads.setdefault(index + 1, operand)
        return index + 1

    # --- writes -------------------------------------------------------------------------------------------------------

    def _write(self, index: int, event: Event) -> None:
        for operand in written(event):
            self.first_written.setdefault(operand.tile, index)
            memory = self._memory(operand)
            if memory is None:
                self.unseen.add(operand.tile)
                continue
            if self._is_complete(operand):
                continue
            overwrites = operand.exact and event.op not in KEEPS_OLD_BYTES
            if overwrites and not operand.pinned and memory.grid.is_all(operand):
                self.complete.add(memory_of(operand))
                self.unmarked[memory_of(operand)] = index + 1, operand.tile
                continue
            writer = memory.grid.view(memory.writer, operand)
            owner = memory.grid.view(memory.owner, operand)
            if overwrites:
                writer[...] = index + 1
                owner[...] = operand.tile
                if not operand.pinned and memory.defined_by(writer):
                    self.complete.add(memory_of(operand))
            else:
                writer[...] = np.where((writer <= NEVER) | (owner != operand.tile), index + 1, writer)
                owner[...] = np.where((owner == operand.tile) | (owner == NOBODY), operand.tile, SEVERAL)

    def _follow(self, event: Event, operand: Operand, reached: flow.Elements, root: int) -> None:
        """Undefined values reach ``operand``: mark them there, or report that they are in an output."""
        tile = self.tiles[operand.tile]
        if isinstance(tile, HbmTensor) and tile.output is not None:
            if operand.exact:
                self._stored(event, operand, int(reached.sum()), root)
            return
        memory = self._memory(operand)
        if memory is None or not operand.exact:
            return
        self.complete.discard(memory_of(operand))
        whole = self.unmarked.pop(memory_of(operand), None)
        if whole is not None:
            memory.write_all(*whole)
        if reached.all():
            memory.grid.view(memory.writer, operand)[...] = -root
            return
        rows, columns = memory.grid.coordinates(operand)
        granules = rows * memory.grid.shape[1] + columns
        if np.isin(granules[~reached], granules[reached]).any():
            memory = self.memories[memory_of(operand)] = memory.refined()
            rows, columns = memory.grid.coordinates(operand)
        memory.writer[rows[reached], columns[reached]] = -root

    def _stored(self, event: Event, operand: Operand, count: int, root: int) -> None:
        source = self.reads[root]
        reader, tile, out = self.program.events[root - 1], self.tiles[source.tile], self.tiles[operand.tile]
        stored = f"{event.op} stores to output '{label(out)}'"
        first = executed_at(reader, f"reads '{label(tile)}' at {touched(source, size(source))}")
        self.found.append(
            Hazard(
                "unwritten",
                f"{count} elements that {stored} come from bytes of '{label(tile)}' which were never written: "
                f"{address(tile)}",
                (label(tile), label(out)),
                declared_at(tile) if reader is event else first,
                executed_at(event, f"stores to '{label(out)}' at {touched(operand, size(operand))}"),
                "write the whole tile first (nl.memset, nl.zeros), or use only the part that was written",
            )
        )


def _memories(program: Program, tiles: dict[int, TileRow | HbmTensor]) -> dict[Memory, _Memory]:
    """The memories that a kernel can read before it writes them: not the HBM tensors that are its inputs."""
    operands: dict[Memory, list[Operand]] = defaultdict(list)
    for operand in _operands(program):
        operands[memory_of(operand)].append(operand)
    found = {}
    for memory, accesses in operands.items():
        tile = tiles.get(memory[1])
        if isinstance(tile, HbmTensor) and tile.role in ("input", "constant"):
            continue
        grid = grid_of(accesses)
        found[memory] = _Memory(grid)
    return found


def _operands(program: Program) -> Iterator[Operand]:
    return (operand for event in program.events for operand in event.operands)


def stale_reads(program: Program, shared: bool) -> list[Hazard]:
    """The reads of overwritten bytes, and the outputs that come from bytes never written, in program order."""
    return _Walk(program, shared).hazards()
