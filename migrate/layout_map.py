"""What a run put where: the places of each memory, the tiles that take turns at them, and what is left free."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nki_migrate.runtime.compare import Program, Run, TileRow
from nki_migrate.runtime.hazards import Hazard, HighWater, Life, concurrent, high_water, lives
from nki_migrate.runtime.spec.memory import MemoryModel, Space

_MOST_LABELS = 4

Where = tuple[int, int, int, int]
"""(first byte, first partition, partitions, bytes) of a place."""


@dataclass(frozen=True)
class Place:
    """One place of a memory, and the tiles that lie there, in the order of their declarations.

    ``at_once``: do values of two of them live at the same time? ``overlaps`` are tiles of other places with some of its
    bytes. ``used`` is false for tiles that no instruction touches.
    """

    where: Where
    tiles: tuple[TileRow, ...]
    at_once: bool
    overlaps: tuple[TileRow, ...]
    used: bool

    @property
    def first(self) -> int:
        return self.where[0]

    @property
    def end(self) -> int:
        return self.where[0] + self.where[3]

    @property
    def label(self) -> str:
        return labels(self.tiles)


@dataclass(frozen=True)
class Memory:
    """One memory of one run: its places by address, the tiles without one, and its high-water mark.

    ``top`` is the end of the highest place, ``limit`` that of the memory, ``lives`` are the values of all its tiles.
    """

    space: Space
    limit: int
    places: tuple[Place, ...]
    loose: tuple[TileRow, ...]
    top: int
    mark: HighWater
    lives: tuple[Life, ...]

    @property
    def banks(self) -> tuple[int, ...]:
        """The banks that tiles with an address lie in."""
        tiles = [tile for place in self.places for tile in place.tiles]
        return tuple(sorted({(tile.byte or 0) // self.space.bank for tile in tiles}))

    @property
    def use(self) -> str:
        """How much of the memory the tiles with an address reach, against its limit."""
        bank = self.space.bank
        if not bank:
            return f"{self.top} of {self.limit} {self.space.unit} ({100 * self.top / self.limit:.1f} %)"
        listed = f" ({', '.join(map(str, self.banks))})" if self.banks else ""
        return f"{len(self.banks)} of {self.limit // bank} banks of {bank} bytes{listed}"

    @property
    def needs(self) -> str:
        """What the tiles that live at once need, wherever they are: a lower bound."""
        return f"high-water mark: at least {self.mark.nbytes} needed at one time"

    def gaps(self) -> Iterator[tuple[int, int]]:
        """The bytes of a partition in no place, up to the limit: (first, end)."""
        end = 0
        for place in self.places:
            if place.first > end:
                yield end, place.first
            end = max(end, place.end)
        if end < self.limit:
            yield end, self.limit


@dataclass(frozen=True)
class Map:
    """The map of one run. ``events`` is the number of instructions of program 0, whose lifetimes are shown."""

    title: str
    hardware: str
    memories: tuple[Memory, ...]
    hazards: tuple[Hazard, ...]
    events: int
    programs: int
    notes: tuple[str, ...] = ()


def mapped(run: Run, title: str, model: MemoryModel, hardware: str) -> Map:
    """The map of a run on ``hardware``: places of all its programs, lifetimes of the first."""
    first = run.programs[0]
    memories = tuple(
        _memory(space, run, first, hardware)
        for space in model.spaces
        if any(tile.space == space.name for program in run.programs for tile in program.tiles)
    )
    return Map(title, hardware, memories, run.hazards, len(first.events), len(run.programs), run.notes)


def _memory(space: Space, run: Run, program: Program, hardware: str) -> Memory:
    values = tuple(life for life in lives(program) if life.tile.space == space.name)
    pairs = {
        frozenset((where_of(a.tile), where_of(b.tile)))
        for a, b in concurrent(life for life in values if life.tile.pinned and life.was_read)
    }
    found = _pinned(space, run)
    loose = [tile for one in run.programs[:1] for tile in one.tiles if tile.space == space.name and not tile.pinned]
    touched = {life.tile.uid for life in values}
    places = [
        Place(
            where,
            tuple(tiles),
            frozenset((where,)) in pairs,
            tuple(tile for other in found if other != where and _intersect(where, other) for tile in found[other]),
            any(tile.uid in touched for tile in tiles),
        )
        for where, tiles in sorted(found.items())
    ]
    top = max((place.end for place in places), default=0)
    mark = high_water(program, space, space.extents[hardware])
    return Memory(space, mark.limit, tuple(places), tuple(loose), top, mark, values)


def _pinned(space: Space, run: Run) -> dict[Where, list[TileRow]]:
    """The tiles with addresses in a memory by their place: those of the first program, and what others have besides."""
    found: dict[Where, list[TileRow]] = {}
    for number, one in enumerate(run.programs):
        for tile in one.tiles:
            if tile.space == space.name and tile.pinned and (number == 0 or tile.label not in _labels_at(found, tile)):
                found.setdefault(where_of(tile), []).append(tile)
    return found


def where_of(tile: TileRow) -> Where:
    """The place of a tile that has an address."""
    return tile.byte or 0, tile.partition or 0, tile.partitions, max(tile.nbytes, 1)


def _labels_at(found: dict[Where, list[TileRow]], tile: TileRow) -> set[str]:
    return {other.label for other in found.get(where_of(tile), ())}


def _intersect(a: Where, b: Where) -> bool:
    return a[0] < b[0] + b[3] and b[0] < a[0] + a[3] and a[1] < b[1] + b[2] and b[1] < a[1] + a[2]


def labels(tiles: Sequence[TileRow]) -> str:
    """The labels of tiles, as short as they can be understood: ``t[0] t[2] .. t[14]``, ``copied x3``."""
    parts = []
    for tensor in dict.fromkeys(tile.tensor for tile in tiles):
        counted = Counter(tile.label for tile in tiles if tile.tensor == tensor)
        names = [name if count == 1 else f"{name} x{count}" for name, count in counted.items()]
        parts += names if len(names) <= _MOST_LABELS else [*names[: _MOST_LABELS - 2], "..", names[-1]]
    return " ".join(parts)
