"""Do the tiles that live at once fit? A lower bound: whatever an allocator does, it needs at least this much.

A tile without an address lives from the first to the last instruction that touches it, and takes its bytes of the
partitions it needs: 32, 64 or 128, as tiles start at quadrants. A tile with an address takes its place.

Of PSUM tiles without an address the hazard counts fewer: the compiler may zero one just before its first matmul,
and run what reads a tile with the iteration of a parallel loop that writes it (``attn_fwd_v3`` of nki-samples).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from heapq import heappop, heappush

from ..compare.hazard import Hazard
from ..compare.trace import Program, TileRow
from ..spec.hardware import PSUM_PARTITION_BYTES, Target
from ..spec.memory import MODEL, Space
from .accesses import written
from .lifetimes import spans
from .model import declared_at, executed_at, label


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


def high_water(program: Program, space: Space, limit: int, used: dict[int, tuple[int, int]] | None = None) -> HighWater:
    """The high-water mark of a memory of ``limit`` bytes (of one row) in one program.

    ``used``: when tiles live (default: their spans).
    """
    used = spans(program) if used is None else used
    tiles = [tile for tile in program.tiles if tile.space == space.name and tile.uid in used]
    best = HighWater(space.name, 0, limit, 0, ())
    live: dict[int, TileRow] = {}
    placed: dict[int, TileRow] = {}
    loose = 0
    ends: list[tuple[int, int]] = []
    for tile in sorted(tiles, key=lambda t: used[t.uid][0]):
        now, last = used[tile.uid]
        while ends and ends[0][0] < now:
            ended = heappop(ends)[1]
            loose -= _loose(live.pop(ended), space)
            placed.pop(ended, None)
        live[tile.uid] = tile
        if tile.pinned:
            placed[tile.uid] = tile
        heappush(ends, (last, tile.uid))
        loose += _loose(tile, space)
        need = loose // space.rows + _covered(placed.values(), space)
        if need > best.nbytes:
            best = HighWater(space.name, need, best.limit, now, tuple(live.values()))
    return best


def _loose(tile: TileRow, space: Space) -> int:
    """Bytes of all partitions that a tile without an address takes at least."""
    return 0 if tile.pinned else tile.nbytes * space.kept(tile.partitions)


def _covered(placed: Iterable[TileRow], space: Space) -> int:
    """Bytes of a partition that tiles with an address take."""
    covered = end = 0
    for tile in sorted(placed, key=lambda t: t.byte or 0):
        start, stop = max(tile.byte or 0, end), (tile.byte or 0) + tile.nbytes
        if stop > start:
            covered += (stop - start) * space.kept(tile.partitions) // space.rows
            end = stop
    return covered


def oversubscribed(program: Program, target: Target) -> list[Hazard]:
    """Memories whose high-water mark is above their size."""
    found = []
    for space in MODEL.spaces:
        limit = target.sbuf_bytes if space.name == "sbuf" else PSUM_PARTITION_BYTES
        mark = high_water(program, space, limit)
        if space.bank and mark.nbytes > mark.limit:
            mark = high_water(program, space, limit, _at_least(program))
        if mark.nbytes > mark.limit:
            largest = max(mark.tiles, key=lambda tile: tile.nbytes)
            found.append(
                Hazard(
                    "oversubscribed",
                    f"{space.title} is over-subscribed: the {len(mark.tiles)} tiles that live at once need at least "
                    f"{mark.nbytes} bytes of a partition, {target.name} has {mark.limit}",
                    tuple(label(tile) for tile in mark.tiles),
                    declared_at(largest),
                    executed_at(program.events[mark.event], f"is where {mark.nbytes} bytes are needed"),
                    "use smaller tiles, or fewer that live at once",
                )
            )
    return found


def _at_least(program: Program) -> dict[int, tuple[int, int]]:
    """When PSUM tiles live, whatever the compiler postpones (module docstring)."""
    loose = {tile.uid for tile in program.tiles if tile.space == "psum" and not tile.pinned}
    touching: dict[int, list[int]] = defaultdict(list)
    writing: dict[int, list[int]] = defaultdict(list)
    for index, event in enumerate(program.events):
        writes = {operand.tile for operand in written(event)} & loose
        for uid in {operand.tile for operand in event.operands}:
            if uid not in writes or event.op != "memset":
                touching[uid].append(index)
        if event.op != "memset":
            for uid in writes:
                writing[uid].append(index)
    kept = {}
    for uid, events in touching.items():
        if not (writing[uid] and _leaves_an_iteration(program, writing[uid], events[-1])):
            kept[uid] = (events[0], events[-1])
    return kept


def _leaves_an_iteration(program: Program, writes: list[int], last: int) -> bool:
    """Are all of the ``writes`` in one iteration of a parallel loop, and the ``last`` use after it?"""
    first, final, used = (program.events[index].sequence for index in (writes[0], writes[-1], last))
    for loop in program.loops:
        if loop.marks and loop.marks[0] < first <= loop.marks[-1]:
            end = loop.marks[bisect_left(loop.marks, first)]
            if final <= end < used:
                return True
    return False
