"""Reads of bytes that another tile has overwritten, or that nothing ever wrote.

Every byte of every memory remembers the instruction that wrote it last, and for which tile. A tile that reads bytes
which it wrote and which another tile wrote since is *overwritten*. Bytes that nobody wrote may be read as long as what
comes of them goes nowhere: a result computed element by element from them is itself marked as never written, and the
hazard is the first instruction that mixes such elements with others, or stores them to HBM.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from ..compare.correspondence import KEEPS_OLD_BYTES
from ..compare.trace import HbmTensor, Program, TileRow
from ..compare.verdict import Place
from ..events import Event, Operand
from .accesses import Memory, memory_of, owners, read, size, written
from .model import Hazard, address, declared_at, executed_at, label, touched
from .shadow import NEVER, Grid, Marks


SEVERAL = -2
"""Owner of bytes of which only some were written for another tile: no statement is made about them."""
NOBODY = -1
ELEMENTWISE = frozenset(
    (
        *("activation", "affine_select", "copy", "dma_copy", "load", "nc_stream_shuffle", "range_select", "reciprocal"),
        *("scalar_tensor_tensor", "select", "tensor_copy", "tensor_copy_predicated", "tensor_scalar"),
        *("tensor_tensor", "transpose", "where"),
    )
)
"""Instructions that compute each element of their result from the elements at its place."""
_MOVES_PARTITIONS = frozenset({"nc_stream_shuffle", "transpose"})


@dataclass(frozen=True)
class _Memory:
    """The marks of one memory: which event wrote a granule (from 1; negative: what it wrote is undefined), for whom."""

    grid: Grid
    writer: Marks
    owner: Marks


class Reader:
    """Walks a program's instructions and finds its stale reads. ``shared`` HBM may be written by other programs."""

    def __init__(self, program: Program, shared: bool) -> None:
        self.program = program
        self.shared = shared
        self.tiles = owners(program)
        self.memories = _memories(program, self.tiles)
        self.found: list[Hazard] = []

    def hazards(self) -> list[Hazard]:
        for index, event in enumerate(self.program.events):
            undefined = [o for o in read(event) if self._reads_undefined(event, o)]
            self._write(index, event)
            if undefined:
                self._use(index, event, undefined)
        return self.found

    def _reads_undefined(self, event: Event, operand: Operand) -> bool:
        """Check one read: report what was overwritten; does it read bytes that were never written?"""
        tile = self.tiles[operand.tile]
        memory = self.memories.get(memory_of(operand))
        if memory is None or operand.tile in self.program.untracked or not memory.grid.holds(operand):
            return False
        if operand.space == "hbm" and self.shared:
            return False
        enough: Callable[[Marks], np.bool_] = np.any if operand.exact else np.all
        if operand.pinned:
            owner = memory.grid.view(memory.owner, operand)
            others = (owner != operand.tile) & (owner != SEVERAL)
            if not enough(others):
                return bool(enough(memory.grid.view(memory.writer, operand) <= NEVER))
            for uid in np.unique(owner[others]):
                if uid != NOBODY:
                    self._overwritten(event, operand, tile, self.tiles[int(uid)], memory)
            return bool(enough(owner == NOBODY))
        return bool(enough(memory.grid.view(memory.writer, operand) <= NEVER))

    def _overwritten(
        self, event: Event, operand: Operand, tile: TileRow | HbmTensor, other: TileRow | HbmTensor, memory: _Memory
    ) -> None:
        owner, writer = memory.grid.view(memory.owner, operand), memory.grid.view(memory.writer, operand)
        last = int(np.abs(writer[owner == other.uid]).max())
        wrote = self.program.events[last - 1]
        place = next(o for o in written(wrote) if o.tile == other.uid)
        mine = any(o.tile == tile.uid for e in self.program.events[: last - 1] for o in written(e))
        kind = "overwritten" if mine else "unwritten"
        message = (
            f"'{label(tile)}' is read after '{label(other)}' has overwritten its bytes"
            if mine
            else f"'{label(tile)}' is read and was never written: its bytes are those of '{label(other)}'"
        )
        message += f": {address(tile)} and {address(other)}"
        self.found.append(
            Hazard(
                kind,
                message,
                (label(tile), label(other)),
                executed_at(wrote, f"writes '{label(other)}' at {touched(place, size(place))}"),
                executed_at(event, f"reads '{label(tile)}' at {touched(operand, size(operand))}"),
                "give the two tiles addresses that do not overlap, or more physical tiles to the one that lives longer",
            )
        )

    # --- undefined values ---------------------------------------------------------------------------------------------

    def _write(self, index: int, event: Event) -> None:
        for operand in written(event):
            memory = self.memories.get(memory_of(operand))
            if memory is None or not memory.grid.holds(operand):
                continue
            writer = memory.grid.view(memory.writer, operand)
            owner = memory.grid.view(memory.owner, operand)
            if operand.exact and event.op not in KEEPS_OLD_BYTES:
                writer[...] = index + 1
                owner[...] = operand.tile
            else:
                writer[...] = np.where((writer <= NEVER) | (owner != operand.tile), index + 1, writer)
                owner[...] = np.where((owner == operand.tile) | (owner == NOBODY), operand.tile, SEVERAL)

    def _use(self, index: int, event: Event, operands: list[Operand]) -> None:
        """An instruction got undefined elements: mark what it computes from them, or report it."""
        targets = [o for o in written(event) if o.space != "hbm"]
        passes = event.op in ELEMENTWISE and len(targets) == len(list(written(event))) == 1
        for operand in operands:
            if not operand.exact or not passes or not self._passed_on(index, event, operand, targets[0]):
                self._unwritten(event, operand)

    def _passed_on(self, index: int, event: Event, operand: Operand, target: Operand) -> bool:
        """Mark the elements of ``target`` that come from undefined elements of ``operand``."""
        memory, there = self.memories[memory_of(operand)], self.memories.get(memory_of(target))
        if there is None or event.op in _MOVES_PARTITIONS or not there.grid.holds(target):
            return False
        undefined = self._undefined(memory, operand)
        rows, columns = there.grid.coordinates(target)
        if not undefined.size or rows.size % undefined.size:
            return False
        chosen = np.repeat(undefined, rows.size // undefined.size)
        there.writer[rows[chosen], columns[chosen]] = -(index + 1)
        return True

    def _undefined(self, memory: _Memory, operand: Operand) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        marks = memory.grid.elements(memory.writer, operand)
        found: np.ndarray[tuple[int], np.dtype[np.bool_]] = marks <= NEVER
        return found

    def _unwritten(self, event: Event, operand: Operand) -> None:
        tile = self.tiles[operand.tile]
        memory = self.memories[memory_of(operand)]
        marks = memory.grid.elements(memory.writer, operand)
        bad = marks[marks <= NEVER]
        first: Place = declared_at(tile)
        origin = f"bytes of '{label(tile)}' that were never written"
        if bad.size and (earliest := int(bad.min())) < NEVER:
            maker = self.program.events[-earliest - 1]
            first = executed_at(maker, f"computes '{label(tile)}' from bytes that were never written")
            origin = f"elements of '{label(tile)}' that were computed from bytes never written"
        self.found.append(
            Hazard(
                "unwritten",
                f"{event.op} uses {origin}: {bad.size} of {marks.size} elements, {address(tile)}",
                (label(tile),),
                first,
                executed_at(event, f"reads '{label(tile)}' at {touched(operand, size(operand))}"),
                "write the whole tile first (nl.memset, nl.zeros), or read only the part that was written",
            )
        )


def _memories(program: Program, tiles: dict[int, TileRow | HbmTensor]) -> dict[Memory, _Memory]:
    """The memories whose reads can be stale: all but HBM tensors that are only inputs."""
    operands: dict[Memory, list[Operand]] = defaultdict(list)
    seen: set[tuple[object, ...]] = set()
    for operand in _operands(program):
        key = (memory_of(operand), operand.partition, operand.byte, operand.steps, size(operand))
        if key not in seen:
            seen.add(key)
            operands[memory_of(operand)].append(operand)
    found = {}
    for memory, accesses in operands.items():
        tile = tiles.get(memory[1])
        if isinstance(tile, HbmTensor) and tile.role in ("input", "constant"):
            continue
        grid = Grid(accesses)
        found[memory] = _Memory(grid, grid.marks(), grid.marks() + np.int32(NOBODY))
    return found


def _operands(program: Program) -> Iterator[Operand]:
    return (operand for event in program.events for operand in event.operands)


def stale_reads(program: Program, shared: bool) -> list[Hazard]:
    """The reads of overwritten bytes and the uses of bytes never written, in program order."""
    return Reader(program, shared).hazards()
