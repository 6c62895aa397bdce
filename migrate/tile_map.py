"""Which new tile stands for which old one, by the map of the rewrite that made the new kernel.

The instruction streams alone tell which tiles correspond (:mod:`nki_migrate.runtime.compare.tiles`). A rewrite knows
it, too: it has an entry for each declaration that it replaced. Where there is one, it must agree with the instructions,
and it alone decides about tiles that no instruction touches.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from nki_migrate.codemods.model import Moved
from nki_migrate.runtime.compare import TileMatch, TileRow

Moves = Mapping[str, Sequence[Moved]]
"""The map of each rewritten file, by its real path."""


def mapped(matches: Sequence[TileMatch], moves: Moves) -> tuple[TileMatch, ...]:
    """The matches with those that the map knows: ``how`` is then ``"map"``, or ``"contradiction"``."""
    if not moves:
        return tuple(matches)
    judged = [_judged(match, moves) if match.before and match.after else match for match in matches]
    return tuple(_joined(judged, moves))


def _judged(match: TileMatch, moves: Moves) -> TileMatch:
    """One pair of tiles that instructions or declarations tell, as the map sees it."""
    old, new = match.before, match.after
    assert old is not None and new is not None
    known = _entries(old, moves)
    if any(_is_at(new, entry) for entry in known) and _same_block(old, new):
        return replace(match, how="map")
    if not known or not all(entry.name for entry in known):
        return match
    places = ", ".join(dict.fromkeys(f"'{entry.new_name}' (line {entry.new_lines[0]})" for entry in known))
    return replace(match, how="contradiction", said=places)


def _entries(tile: TileRow, moves: Moves) -> list[Moved]:
    """What the map says of a tile: the entries of its line under its name, else those of tiles that had no name."""
    here = [m for m in moves.get(os.path.realpath(tile.file), ()) if m.lines[0] <= tile.line <= m.lines[1]]
    return [m for m in here if m.name == tile.tensor] or [m for m in here if not m.name]


def _is_at(tile: TileRow, entry: Moved) -> bool:
    return entry.new_lines[0] <= tile.line <= entry.new_lines[1]


def _same_block(old: TileRow, new: TileRow) -> bool:
    """Positions are comparable where both sides have them: a folded tensor and one of a loop have none."""
    return old.block == new.block or len(old.block) != len(new.block)


def _joined(matches: Sequence[TileMatch], moves: Moves) -> Iterator[TileMatch]:
    """The matches; a lone old tile and a lone new one are a pair where the map has one place for the old one."""
    lone = [match for match in matches if match.before is None and match.after is not None]
    taken: set[int] = set()
    joined: dict[int, TileMatch] = {}
    for number, match in enumerate(matches):
        if match.before is None or match.after is not None:
            continue
        known = _entries(match.before, moves)
        for other in lone if len(known) == 1 else ():
            new = other.after
            if new is None or id(other) in taken or other.program != match.program:
                continue
            if _is_at(new, known[0]) and match.before.block == new.block:
                taken.add(id(other))
                joined[number] = replace(match, after=new, how="map")
                break
    for number, match in enumerate(matches):
        if id(match) not in taken:
            yield joined.get(number, match)
