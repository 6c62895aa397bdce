"""Which tile of the new kernel stands for which tile of the old one.

The evidence is the operand stream: two tiles that the same operand of the same instruction touches stand for each
other. A tile that no instruction touches is matched with a tile of the same name, position, place and size; what is
then left has no counterpart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .excerpts import facts
from .operands import Walk
from .trace import TileRow


@dataclass(frozen=True)
class TileMatch:
    """An old tile and the new one that stands for it, in ``program``; ``None`` for a side without a counterpart.

    ``how``: ``"operands"`` (the instructions tell), ``"declaration"`` (no instruction touches it, and it is declared
    the same), ``"unmatched"``, or ``"unknown"`` (the streams part before an instruction touches it). Where whoever made
    the new kernel has a map of its own: ``"map"`` (it says so, and nothing speaks against it) or ``"contradiction"``
    (it says something else: ``said``). ``"added"``: a new tile for an instruction that only the new kernel may have.
    """

    program: int
    before: TileRow | None
    after: TileRow | None
    how: str
    said: str = ""


def matched_tiles(walks: Sequence[Walk]) -> tuple[TileMatch, ...]:
    """The matches of all programs; a match that repeats an earlier one (a declaration in a loop) is left out."""
    distinct: dict[tuple[object, ...], TileMatch] = {}
    for program, walk in enumerate(walks):
        for match in _of_program(program, walk):
            key = (*_identity(match.before), None, *_identity(match.after), match.how)
            distinct.setdefault(key, match)
    return tuple(distinct.values())


def _of_program(program: int, walk: Walk) -> Iterator[TileMatch]:
    old = {tile.uid: tile for tile in walk.old.tiles}
    new = {tile.uid: tile for tile in walk.new.tiles}
    for a, b in walk.pairs:
        if a in old and b in new:
            yield TileMatch(program, old[a], new[b], "operands")
    matched_old, matched_new = {a for a, _ in walk.pairs}, {b for _, b in walk.pairs}
    waiting: dict[tuple[object, ...], list[TileRow]] = {}
    for tile in new.values():
        if tile.uid not in matched_new:
            waiting.setdefault(facts(tile), []).append(tile)
    alone = "unknown" if walk.difference is not None else "unmatched"
    for tile in old.values():
        if tile.uid in matched_old:
            continue
        same = waiting.get(facts(tile))
        if same:
            yield TileMatch(program, tile, same.pop(0), "declaration")
        else:
            yield TileMatch(program, tile, None, alone)
    for left in waiting.values():
        for tile in left:
            yield TileMatch(program, None, tile, "added" if tile.uid in walk.added else alone)


def _identity(tile: TileRow | None) -> tuple[object, ...]:
    return () if tile is None else (*facts(tile), tile.file, tile.line)
