"""Iterations of an ``affine_range`` that depend on each other (Beta 1: they may run at the same time).

Every byte of a tile that several iterations touch remembers the iteration that wrote it last and the one that read it.
An iteration that reads what another one wrote, or writes what another one read from before the loop, depends on it. So
do two that write the same bytes, unless the tile is on chip and nobody reads it after the loop: then each iteration
could have a tile of its own. Reductions are allowed (``t += x``, accumulating matmuls): they may run in any order, as
long as no iteration reads the tile.
Beta 2 unrolls its loops and has no such hazard (language guide of 2.28: the ranges "do not change the meaning").
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..compare.trace import HbmTensor, Program, TileRow
from ..compare.verdict import Place
from ..events import Event, Loop, Operand
from .accesses import is_reduction, owners, read, size, written
from .model import Hazard, address, executed_at, label, touched
from .shadow import NEVER, Grid, Marks


@dataclass(frozen=True)
class _Step:
    """One instruction of a loop run, with the iteration that executed it."""

    index: int
    iteration: int
    event: Event


def dependent_iterations(program: Program) -> list[Hazard]:
    """The dependences between iterations of parallel loops: the first one of each loop run and tile."""
    tiles = owners(program)
    sequences = [event.sequence for event in program.events]
    found = []
    for loop in program.loops:
        steps = list(_steps(program, loop, sequences))
        for uid in _shared_tiles(steps):
            if uid not in program.untracked:
                found += _Dependence(program, loop, tiles[uid], steps).first()
    return found


def _steps(program: Program, loop: Loop, sequences: list[int]) -> Iterator[_Step]:
    if len(loop.marks) < 3:
        return
    start, end = bisect_right(sequences, loop.marks[0]), bisect_right(sequences, loop.marks[-1])
    for index in range(start, end):
        iteration = bisect_right(loop.marks, sequences[index] - 1) - 1
        yield _Step(index, iteration, program.events[index])


def _shared_tiles(steps: list[_Step]) -> list[int]:
    """The tiles that several iterations touch and at least one writes."""
    iterations: dict[int, set[int]] = defaultdict(set)
    changed: set[int] = set()
    for step in steps:
        for operand in step.event.operands:
            iterations[operand.tile].add(step.iteration)
        changed.update(operand.tile for operand in written(step.event))
    return [uid for uid, seen in iterations.items() if len(seen) > 1 and uid in changed]


class _Dependence:
    """The marks of one tile in one run of a loop: number of the step (from 1) that wrote or read a granule last."""

    def __init__(self, program: Program, loop: Loop, tile: TileRow | HbmTensor, steps: list[_Step]) -> None:
        self.loop, self.tile = loop, tile
        self.steps = [step for step in steps if any(o.tile == tile.uid for o in step.event.operands)]
        self.grid = Grid(o for step in self.steps for o in step.event.operands if o.tile == tile.uid)
        self.written, self.read = self.grid.marks(), self.grid.marks()
        self.reduced = self.grid.marks()
        self.private = isinstance(tile, TileRow) and not _read_after(program, tile.uid, steps[-1].index)

    def first(self) -> list[Hazard]:
        for number, step in enumerate(self.steps, 1):
            reduces = is_reduction(step.event)
            reads = () if reduces else (o for o in read(step.event) if o.tile == self.tile.uid)
            for operand in filter(self._decided, reads):
                other = self._other(step, self.grid.view(self.written, operand))
                if other is not None:
                    return [self._hazard(other, step, operand, "reads", "wrote")]
                seen = self.grid.view(self.read, operand)
                seen[...] = np.where(self.grid.view(self.written, operand) == NEVER, number, seen)
            for operand in filter(self._decided, (o for o in written(step.event) if o.tile == self.tile.uid)):
                view, seen = self.grid.view(self.written, operand), self.grid.view(self.read, operand)
                reduced = self.grid.view(self.reduced, operand)
                before = np.zeros_like(view) if self.private else view * (1 - reduced) if reduces else view
                for marks, verb in ((before, "wrote"), (seen, "read")):
                    other = self._other(step, marks)
                    if other is not None:
                        return [self._hazard(other, step, operand, "writes", verb)]
                only_reduced = (view == NEVER) | (reduced > 0) if reduces else np.zeros_like(view)
                view[...] = np.where(only_reduced & (view != NEVER), view, number)
                reduced[...] = only_reduced
        return []

    def _decided(self, operand: Operand) -> bool:
        """Accesses whose elements only the chip knows say nothing."""
        return operand.exact and self.grid.holds(operand)

    def _other(self, step: _Step, marks: Marks) -> _Step | None:
        """A step of another iteration among ``marks``."""
        for number in np.unique(marks):
            other: _Step = self.steps[int(number) - 1]
            if number != NEVER and other.iteration != step.iteration:
                return other
        return None

    def _hazard(self, before: _Step, after: _Step, operand: Operand, does: str, did: str) -> Hazard:
        name = label(self.tile)
        line = f"line {self.loop.line}"
        return Hazard(
            "dependent_iterations",
            f"iteration {after.iteration} of the affine_range at {line} {does} bytes of '{name}' that iteration "
            f"{before.iteration} {did}: {address(self.tile)}",
            (name,),
            self._place(before, did),
            executed_at(after.event, f"{does} '{name}' at {touched(operand, size(operand))} ({_nth(after)})"),
            "use nl.sequential_range, or give every iteration a tile of its own",
        )

    def _place(self, step: _Step, did: str) -> Place:
        operands = read(step.event) if did == "read" else written(step.event)
        operand = next(o for o in operands if o.tile == self.tile.uid)
        return executed_at(
            step.event, f"{did} '{label(self.tile)}' at {touched(operand, size(operand))} ({_nth(step)})"
        )


def _read_after(program: Program, uid: int, index: int) -> bool:
    """Is the tile read after event ``index``, before another instruction writes it?"""
    for event in program.events[index + 1 :]:
        if any(operand.tile == uid for operand in read(event)):
            return True
        if any(operand.tile == uid for operand in written(event)):
            return False
    return False


def _nth(step: _Step) -> str:
    return f"iteration {step.iteration}"
