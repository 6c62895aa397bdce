"""When a tile holds a value: from the instruction that begins to write it to the last one that reads it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..compare.trace import Program, TileRow
from ..events import Operand
from .accesses import is_adding, read, size, written

Box = tuple[int, int, int, int]
"""(first partition, end, first byte, end) of what an access touches."""


@dataclass
class Life:
    """One value of a tile: the numbers of the first and the last instruction that touch it, and what they touch."""

    tile: TileRow
    first: int
    last: int
    box: Box
    was_read: bool = False

    def overlaps(self, other: Life) -> bool:
        """Does one begin while the other still is to be read?"""
        return self.first < other.last and other.first < self.last


def lives(program: Program, *, pinned: bool = False) -> list[Life]:
    """The values of all tiles on chip (or of those that are ``pinned``), in the order of their beginnings.

    A write after a read begins a new value, unless the instruction reads the tile itself.
    """
    tiles = {tile.uid: tile for tile in program.tiles if tile.pinned or not pinned}
    running: dict[int, Life] = {}
    found: list[Life] = []
    for index, event in enumerate(program.events if tiles else ()):
        reads = [o for o in read(event) if o.tile in tiles]
        for operand in reads:
            life = _life(running, found, tiles[operand.tile], index, operand)
            life.was_read = True
        for operand in written(event):
            if operand.tile not in tiles:
                continue
            before = running.get(operand.tile)
            kept = is_adding(event) or any(o.tile == operand.tile for o in reads)
            if before is not None and before.was_read and not kept:
                del running[operand.tile]
            _life(running, found, tiles[operand.tile], index, operand)
    return found


def _life(running: dict[int, Life], found: list[Life], tile: TileRow, index: int, operand: Operand) -> Life:
    life = running.get(tile.uid)
    if life is None:
        life = running[tile.uid] = Life(tile, index, index, box_of(operand))
        found.append(life)
    life.last = index
    life.box = _union(life.box, box_of(operand))
    return life


def box_of(operand: Operand) -> Box:
    rows = 1 + sum(step * (count - 1) for step, _, count in operand.steps)
    columns = size(operand) + sum(step * (count - 1) for _, step, count in operand.steps)
    return operand.partition, operand.partition + rows, operand.byte, operand.byte + columns


def _union(a: Box, b: Box) -> Box:
    return min(a[0], b[0]), max(a[1], b[1]), min(a[2], b[2]), max(a[3], b[3])


def spans(program: Program) -> dict[int, tuple[int, int]]:
    """For each tile that is used, the numbers of the first and the last instruction that touch it."""
    found: dict[int, tuple[int, int]] = {}
    for index, event in enumerate(program.events):
        for operand in event.operands:
            first, _ = found.get(operand.tile, (index, index))
            found[operand.tile] = (first, index)
    return found


def share_partitions(a: Box, b: Box) -> bool:
    return a[0] < b[1] and b[0] < a[1]


def intersect(a: Box, b: Box) -> bool:
    return share_partitions(a, b) and a[2] < b[3] and b[2] < a[3]


def concurrent(values: Iterable[Life]) -> list[tuple[Life, Life]]:
    """The pairs of values of different tiles that live at the same time."""
    running: list[Life] = []
    pairs = []
    for life in values:
        running = [other for other in running if other.last > life.first]
        pairs += [(other, life) for other in running if other.tile.uid != life.tile.uid and other.overlaps(life)]
        running.append(life)
    return pairs
