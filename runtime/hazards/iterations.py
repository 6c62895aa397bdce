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
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from ..compare.hazard import Hazard
from ..compare.trace import HbmTensor, Program, TileRow
from ..compare.verdict import Place
from ..events import Event, Loop, Operand
from .accesses import MATMULS, is_adding, owners, place, read, reduction, size, written
from .model import address, executed_at, label, touched
from .shadow import NEVER, Marks, distinct, grid_of


@dataclass(frozen=True)
class _Step:
    """One instruction of a loop run, with the iteration that executed it."""

    index: int
    iteration: int
    event: Event


def dependent_iterations(program: Program) -> list[Hazard]:
    """The dependences between iterations of parallel loops: the first one of each loop run and tile."""
    tiles, touching = owners(program), _touching(program)
    sequences = [event.sequence for event in program.events]
    found = []
    for loop in program.loops:
        steps = list(_steps(program, loop, sequences))
        for uid, own in _shared_tiles(steps):
            if uid not in program.untracked and not _are_apart(uid, own) and not _only_add(uid, own):
                after = touching[uid][bisect_right(touching[uid], steps[-1].index) :]
                found += _Dependence(loop, tiles[uid], own, [program.events[index] for index in after]).first()
    return found


def _steps(program: Program, loop: Loop, sequences: list[int]) -> Iterator[_Step]:
    if len(loop.marks) < 3:
        return
    start, end = bisect_right(sequences, loop.marks[0]), bisect_right(sequences, loop.marks[-1])
    for index in range(start, end):
        iteration = bisect_right(loop.marks, sequences[index] - 1) - 1
        yield _Step(index, iteration, program.events[index])


def _shared_tiles(steps: list[_Step]) -> Iterator[tuple[int, list[_Step]]]:
    """The tiles that several iterations touch and at least one writes, each with the steps that touch it."""
    own: dict[int, list[_Step]] = defaultdict(list)
    changed: set[int] = set()
    for step in steps:
        for operand in step.event.operands:
            if not own[operand.tile] or own[operand.tile][-1] is not step:
                own[operand.tile].append(step)
        changed.update(operand.tile for operand in written(step.event))
    for uid, touching in own.items():
        if uid in changed and touching[0].iteration != touching[-1].iteration:
            yield uid, touching


def _are_apart(uid: int, steps: list[_Step]) -> bool:
    """Does each iteration touch granules of a tile that no other one touches? (Most tiles of most kernels are so.)"""
    grid = grid_of(o for step in steps for o in step.event.operands if o.tile == uid)
    iterations = grid.marks()
    for step in steps:
        for operand in step.event.operands:
            if operand.tile != uid:
                continue
            if not grid.holds(operand):
                return False
            view, own = grid.view(iterations, operand), step.iteration + 1
            if ((view != own) & (view != NEVER)).any():
                return False
            view[...] = own
    return True


def _only_add(uid: int, steps: list[_Step]) -> bool:
    """Are all of ``steps`` one reduction to a tile that they read for nothing else? The first may begin a group."""
    operators = {reduction(step.event) for step in steps}
    return (
        len(operators) == 1
        and None not in operators
        and not any(_opens(step.event) for step in steps[1:])
        and all(o.tile != uid for step in steps for o in _read_besides(step.event))
    )


def _opens(event: Event) -> bool:
    """Is it a matmul that begins a group?"""
    return event.op in MATMULS and not is_adding(event)


def _read_besides(event: Event) -> list[Operand]:
    """What an instruction reads, but for what it only adds to."""
    added = {place(o) for o in written(event)} if reduction(event) else set()
    return [o for o in read(event) if place(o) not in added] if added else read(event)


class _Dependence:
    """The marks of one tile in one run of a loop, for each granule of it.

    ``written`` is the number of the step (from 1) that wrote it last, or the first one of the reductions since;
    ``read`` that of the first step which reads what was there before the loop: a later one of the same iteration would
    hide it. ``reduced`` is the operator while nothing but one reduction wrote the granule and nobody read it;
    ``opened`` says that a matmul started it, and so nothing from before the loop is in it.
    """

    def __init__(self, loop: Loop, tile: TileRow | HbmTensor, steps: list[_Step], after: list[Event]) -> None:
        """``steps`` of the loop run that touch the tile, and the events ``after`` it that do."""
        self.loop, self.tile, self.steps = loop, tile, steps
        self.grid = grid_of(o for step in self.steps for o in step.event.operands if o.tile == tile.uid)
        self.written, self.read = self.grid.marks(), self.grid.marks()
        self.reduced, self.opened = self.grid.marks(), self.grid.marks()
        self.operators: dict[str, int] = {}
        self.private = isinstance(tile, TileRow) and not _read_after(tile.uid, self.steps, after)

    def first(self) -> list[Hazard]:
        for number, step in enumerate(self.steps, 1):
            hazard = self._read(number, step) or self._write(number, step)
            if hazard is not None:
                return [hazard]
        return []

    def _read(self, number: int, step: _Step) -> Hazard | None:
        """Mark what ``step`` reads, but for what it only adds to."""
        for operand in _read_besides(step.event):
            if operand.tile != self.tile.uid or not self._decided(operand):
                continue
            written_by, reduced = self.grid.view(self.written, operand), self.grid.view(self.reduced, operand)
            other = self._other(step, written_by)
            if other is not None:
                return self._hazard(other, step, operand, "reads", "wrote")
            from_before = (reduced > 0) & (self.grid.view(self.opened, operand) == 0)
            seen = self.grid.view(self.read, operand)
            seen[...] = np.where((seen == NEVER) & ((written_by == NEVER) | from_before), number, seen)
            reduced[...] = 0
        return None

    def _write(self, number: int, step: _Step) -> Hazard | None:
        """Mark what ``step`` writes or adds to."""
        operator = reduction(step.event)
        for operand in written(step.event):
            if operand.tile != self.tile.uid or not self._decided(operand):
                continue
            view, reduced = self.grid.view(self.written, operand), self.grid.view(self.reduced, operand)
            opens = _opens(step.event)
            group = self.operators.setdefault(operator, len(self.operators) + 1) if operator else 0
            joins = (reduced == group) if operator and not opens else np.zeros_like(view, bool)
            overwrites = operator is None or opens
            before = np.zeros_like(view) if overwrites and self.private else np.where(joins, NEVER, view)
            for marks, verb in ((before, "wrote"), (self.grid.view(self.read, operand), "read")):
                other = self._other(step, marks)
                if other is not None:
                    return self._hazard(other, step, operand, "writes", verb)
            self.grid.view(self.opened, operand)[...] |= (view == NEVER) & opens
            reduced[...] = np.where(joins | (view == NEVER), group, 0)
            view[...] = np.where(joins, view, number)
        return None

    def _decided(self, operand: Operand) -> bool:
        """Accesses whose elements only the chip knows say nothing."""
        return operand.exact and self.grid.holds(operand)

    def _other(self, step: _Step, marks: Marks) -> _Step | None:
        """A step of another iteration among ``marks``."""
        for number in distinct(marks) if marks.any() else ():
            other: _Step = self.steps[number - 1]
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


def _touching(program: Program) -> dict[int, list[int]]:
    """For each tile the events that touch it, by index."""
    found: dict[int, list[int]] = defaultdict(list)
    for index, event in enumerate(program.events):
        for uid in {operand.tile for operand in event.operands}:
            found[uid].append(index)
    return found


def _read_after(uid: int, inside: list[_Step], after: list[Event]) -> bool:
    """Does an event of ``after`` read what those ``inside`` of the loop wrote, before others overwrite it?"""

    def of_tile(operands: Iterable[Operand]) -> list[Operand]:
        return [operand for operand in operands if operand.tile == uid]

    grid = grid_of(o for event in (*(step.event for step in inside), *after) for o in of_tile(event.operands))
    left = grid.marks()
    for step in inside:
        for operand in of_tile(written(step.event)):
            if not grid.holds(operand):
                return True
            grid.view(left, operand)[...] = 1
    for event in after:
        if any(not grid.holds(o) or grid.view(left, o).any() for o in of_tile(read(event))):
            return True
        for operand in of_tile(written(event)):
            if operand.exact and grid.holds(operand):
                grid.view(left, operand)[...] = 0
        if not left.any():
            return False
    return False


def _nth(step: _Step) -> str:
    return f"iteration {step.iteration}"
