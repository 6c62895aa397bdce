"""Do the tiles that live at once fit? A lower bound: whatever an allocator does, it needs at least this much.

A tile without an address lives from the first to the last instruction that touches it, and takes its bytes of the
partitions it needs: 32, 64 or 128, as tiles start at quadrants. A tile with an address takes its place.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..compare.trace import Program, TileRow
from ..spec.hardware import PARTITIONS, PSUM_PARTITION_BYTES, Target
from .lifetimes import spans
from .model import Hazard, declared_at, executed_at, label

_QUADRANT = 32


@dataclass(frozen=True)
class HighWater:
    """The most bytes of a partition that tiles of ``space`` need at one time: there are ``limit``.

    ``event`` is the number of the instruction at which it is reached, ``tiles`` are those that live then.
    """

    space: str
    nbytes: int
    limit: int
    event: int
    tiles: tuple[TileRow, ...]


def high_water(program: Program, space: str, target: Target) -> HighWater:
    """The high-water mark of SBUF or PSUM in one program."""
    used = spans(program)
    tiles = [tile for tile in program.tiles if tile.space == space and tile.uid in used]
    limit = target.sbuf_bytes if space == "sbuf" else PSUM_PARTITION_BYTES
    best = HighWater(space, 0, limit, 0, ())
    live: list[TileRow] = []
    for tile in sorted(tiles, key=lambda t: used[t.uid][0]):
        now = used[tile.uid][0]
        live = [*(other for other in live if used[other.uid][1] >= now), tile]
        need = _need(live)
        if need > best.nbytes:
            best = HighWater(space, need, limit, now, tuple(live))
    return best


def _need(live: list[TileRow]) -> int:
    """Bytes of a partition that ``live`` tiles take at least."""
    loose = sum(tile.nbytes * _rows(tile) for tile in live if not tile.pinned) // PARTITIONS
    covered = end = 0
    for tile in sorted((t for t in live if t.pinned), key=lambda t: t.byte or 0):
        start, stop = max(tile.byte or 0, end), (tile.byte or 0) + tile.nbytes
        if stop > start:
            covered += (stop - start) * _rows(tile) // PARTITIONS
            end = stop
    return loose + covered


def _rows(tile: TileRow) -> int:
    """The partitions that a tile keeps others from: whole quadrants, and half or all of them over one."""
    if tile.partitions <= _QUADRANT:
        return _QUADRANT
    return 2 * _QUADRANT if tile.partitions <= 2 * _QUADRANT else PARTITIONS


def oversubscribed(program: Program, target: Target) -> list[Hazard]:
    """Memories whose high-water mark is above their size."""
    found = []
    for space in ("sbuf", "psum"):
        mark = high_water(program, space, target)
        if mark.nbytes > mark.limit:
            largest = max(mark.tiles, key=lambda tile: tile.nbytes)
            found.append(
                Hazard(
                    "oversubscribed",
                    f"{space.upper()} is over-subscribed: the {len(mark.tiles)} tiles that live at once need at least "
                    f"{mark.nbytes} bytes of a partition, {target.name} has {mark.limit}",
                    tuple(label(tile) for tile in mark.tiles),
                    declared_at(largest),
                    executed_at(program.events[mark.event], f"is where {mark.nbytes} bytes are needed"),
                    "use smaller tiles, or fewer that live at once",
                )
            )
    return found
