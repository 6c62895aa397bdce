"""The proof that ``verify`` prints: results of cases as text and as JSON."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from nki_migrate.runtime.compare import LEVELS, Difference, LevelVerdict, Place, TileMatch, TileRow, Verdict, worst
from nki_migrate.runtime.compare.condition import Condition
from nki_migrate.runtime.compare.verdict import MAX_DIFFERENCES
from nki_migrate.runtime.hazards import Hazard

from .spans import Span

CONTRACT = (
    "The contract is emulator(old) against emulator(new), never hardware: how either kernel behaves on a device is not "
    "part of this proof."
)


@dataclass(frozen=True)
class Problem:
    """Why something could not be compared: the ``case``, the ``before`` or ``after`` kernel, or the ``reference``.

    ``version`` tells a version of ``file`` that is not the one on disk.
    """

    side: str
    verdict: Verdict
    message: str
    file: str = ""
    line: int = 0
    help: str = ""
    version: str = ""


@dataclass(frozen=True)
class CaseResult:
    """One case of one kernel. ``kernel`` is empty for a file that does not load, ``case`` where there is no case.

    ``tiles`` are the distinct ones of the runs before and after, ``matches`` say which stands for which, ``seconds`` is
    how long both runs took. ``labels`` tell versions of the two files that are not those on disk. ``hazards`` of either
    run are notes: they change no verdict. ``conditions`` say how those of either run went, ``spans`` when values lived.
    """

    before: str
    after: str
    kernel: str = ""
    case: str = ""
    hardware: str = ""
    levels: tuple[LevelVerdict, ...] = ()
    problems: tuple[Problem, ...] = ()
    reference: tuple[LevelVerdict, ...] = ()
    tiles: tuple[tuple[TileRow, ...], tuple[TileRow, ...]] = ((), ())
    seconds: float = 0.0
    language: str = "nki"
    labels: tuple[str, str] = ("", "")
    matches: tuple[TileMatch, ...] = ()
    hazards: tuple[tuple[Hazard, ...], tuple[Hazard, ...]] = ((), ())
    conditions: tuple[tuple[Condition, ...], tuple[Condition, ...]] = ((), ())
    spans: tuple[tuple[Span, ...], tuple[Span, ...]] = ((), ())

    @property
    def unmatched(self) -> tuple[TileMatch, ...]:
        """Tiles of one side that nothing on the other side stands for."""
        return tuple(match for match in self.matches if match.how == "unmatched")

    @property
    def contradicted(self) -> tuple[TileMatch, ...]:
        """Pairs of tiles that the instructions tell, and the rewrite's own map does not."""
        return tuple(match for match in self.matches if match.how == "contradiction")

    @property
    def doubts(self) -> tuple[TileMatch, ...]:
        """What is not as it should be with the tiles; no verdict depends on it."""
        return (*self.unmatched, *self.contradicted)

    @property
    def ulps(self) -> int:
        """How far apart numbers are that count as equal, because that was declared."""
        return max((level.ulps for level in self.levels), default=0)

    @property
    def verdict(self) -> Verdict:
        found = [level.verdict for level in (*self.levels, *self.reference)]
        return worst([*found, *(problem.verdict for problem in self.problems)])

    def at(self, before: str, after: str, hardware: str) -> CaseResult:
        return replace(self, before=before, after=after, hardware=hardware)


@dataclass(frozen=True)
class Proof:
    """All results, and what was not compared."""

    results: tuple[CaseResult, ...]
    notes: tuple[str, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        counted = Counter(result.verdict for result in self.results)
        return {verdict.value: counted[verdict] for verdict in Verdict}

    @property
    def exit_code(self) -> int:
        """0 all equal; 2 something is undecided or in error; 1 something differs and everything was decided."""
        counts = self.counts
        if counts["undecided"] or counts["error"]:
            return 2
        return 1 if counts["different"] else 0


# --- text ------------------------------------------------------------------------------------------------------------


def as_text(proof: Proof, *, tiles: bool = False) -> str:
    """The proof for people, plain. (``terminal`` says the same in colours.)

    ``tiles`` adds which new tile stands for which old one.
    """
    lines: list[str] = []
    title = ""
    for result in proof.results:
        if _title(result) != title:
            title = _title(result)
            lines += ["", title]
        lines += _result_lines(result, tiles=tiles)
    lines += ["", *(f"note: {note}" for note in proof.notes), summary(proof), CONTRACT]
    return "\n".join(lines[1:] if not lines[0] else lines)


def summary(proof: Proof) -> str:
    """One line with the number of cases by verdict."""
    counts = proof.counts
    total = len(proof.results)
    parts = [
        f"{counts[verdict.value]} {'in ' if verdict is Verdict.ERROR else ''}{verdict.value}" for verdict in Verdict
    ]
    within = sum(map(_is_within, proof.results))
    if within:
        parts[0] += f" ({within} within declared ULPs)"
    return f"{total} case{'' if total == 1 else 's'}: {', '.join(parts)}"


def result_text(result: CaseResult, *, tiles: bool = False) -> str:
    """What the proof says about one case, with all ``tiles`` on request."""
    return "\n".join(_result_lines(result, tiles=tiles))


def _result_lines(result: CaseResult, *, tiles: bool = False) -> Iterator[str]:
    title = result.kernel or "the file"
    title += f", {result.case}" if result.case else ""
    title += f" ({result.hardware})" if result.hardware else ""
    yield f"  {title}: {result.verdict.value}{f' within {result.ulps} ULP' if _is_within(result) else ''}"
    for problem in result.problems:
        place = f"{_place_text(problem.file, problem.line, problem.version)}: " if problem.line else ""
        side = "" if problem.side == "case" else f"{problem.side}: "
        yield f"    {side}{problem.verdict.value}: {place}{problem.message}"
        if problem.help:
            yield f"      {problem.help}"
    shown: set[object] = set()
    for level in result.levels:
        yield from _level_lines(level.level, level, level.summary, shown)
        if level.level == "operands":
            yield from _match_lines(result, tiles)
    for agreement in result.reference:
        yield from _level_lines("reference", agreement, f"{agreement.level} {agreement.summary}", shown)
    for name, hazards in zip(("before", "after"), result.hazards, strict=True):
        for hazard in hazards:
            yield from _hazard_lines(name, hazard)


def _is_within(result: CaseResult) -> bool:
    """Does *equal* need the addition that it is not bit by bit?"""
    return bool(result.ulps) and result.verdict is Verdict.EQUAL


def _hazard_lines(side: str, hazard: Hazard) -> Iterator[str]:
    times = f" ({hazard.count} times)" if hazard.count > 1 else ""
    yield f"    note: {side} has a hazard [{hazard.kind}]: {hazard.message}{times}"
    for place in dict.fromkeys((hazard.first, hazard.second)):
        yield f"      {_place_text(place.file, place.line, place.version)}: {place.what}"


def _level_lines(name: str, level: LevelVerdict, summary: str, shown: set[object]) -> Iterator[str]:
    """``shown`` are the excerpts that an earlier level has shown."""
    yield f"    {name:<10} {level.verdict.value:<9}  {summary}"
    for note in level.notes:
        yield f"      note: {note}"
    for number, difference in enumerate(level.differences):
        yield f"      {difference.message}"
        for side, place in (("before", difference.before), ("after ", difference.after)):
            if place is not None:
                yield f"        {side} {_place_text(place.file, place.line, place.version)}: {place.what}"
                if place.source:
                    yield f"          | {place.source}"
        maps = difference.maps if number == 0 and difference.maps not in shown else ()
        shown.add(maps)
        for side, excerpt in zip(("before", "after"), maps, strict=False):
            yield from (f"        {line}" for line in ([f"addresses {side}", *excerpt] if excerpt else ()))
    hidden = level.count - len(level.differences)
    if hidden > 0:
        yield f"      and {hidden} more"


def _match_lines(result: CaseResult, everything: bool) -> Iterator[str]:
    """Tiles without a proper counterpart, how many a rewrite's map tells; with ``everything`` all matches."""
    by_map = sum(match.how == "map" for match in result.matches)
    if by_map:
        inferred = sum(match.how in ("operands", "declaration") for match in result.matches)
        yield f"      note: {by_map} of {by_map + inferred} pairs of tiles by the rewrite's map, {inferred} inferred"
    shown = result.matches if everything else result.doubts[:MAX_DIFFERENCES]
    for match in shown:
        tile = match.before or match.after
        if match.before is not None and match.after is not None:
            yield f"      tile {_tile_text(match.before)} -> {_tile_text(match.after)}, {how_matched(match)}"
        elif match.how == "added" and tile is not None:
            yield f"      tile {_tile_text(tile)} is new: a declared instruction writes it"
        elif tile is not None:
            side, other = ("before", "after") if match.after is None else ("after", "before")
            why = "no instruction touches it" if match.how == "unmatched" else "the instructions differ before it"
            place = f"{_shown(tile.file)}:{tile.line}"
            yield f"      unmatched tile: {_tile_text(tile)} ({side}, {place}) has no counterpart {other}: {why}"
    hidden = 0 if everything else len(result.doubts) - len(shown)
    if hidden > 0:
        yield f"      and {hidden} more tiles without a proper counterpart"


_HOW = {
    "map": "by the rewrite's map",
    "operands": "inferred from the instructions",
    "declaration": "inferred from their declarations",
}


def how_matched(match: TileMatch) -> str:
    """How it is known that one tile stands for the other."""
    if match.how == "contradiction":
        return f"inferred from the instructions, but the rewrite's map says {match.said}"
    return _HOW[match.how]


def _tile_text(tile: TileRow) -> str:
    place = "no address" if tile.byte is None else f"partition {tile.partition} byte {tile.byte}"
    return f"'{tile.label}' {tile.space} {place}"


def _place_text(file: str, line: int, version: str) -> str:
    return _versioned(f"{_shown(file)}:{line}", version)


def _title(result: CaseResult) -> str:
    before, after = (
        _versioned(path, label) for path, label in zip((result.before, result.after), result.labels, strict=True)
    )
    return f"{before} -> {after}" if result.after else before


def _versioned(text: str, version: str) -> str:
    return f"{text} ({version})" if version else text


def _shown(path: str) -> str:
    """A path below the current directory as a relative one."""
    relative = os.path.relpath(path) if os.path.isabs(path) else path
    return path if relative.startswith(os.pardir) else relative


# --- JSON ------------------------------------------------------------------------------------------------------------


def as_json(proof: Proof) -> str:
    """``{"results": [one per kernel and case], "notes", "summary", "contract"}``."""
    document = {
        "results": [_result(result) for result in proof.results],
        "notes": list(proof.notes),
        "summary": {"cases": len(proof.results), **proof.counts},
        "contract": CONTRACT,
    }
    return json.dumps(document, indent=2)


def _result(result: CaseResult) -> dict[str, Any]:
    return {
        "before": result.before,
        "after": result.after,
        "kernel": result.kernel or None,
        "case": result.case or None,
        "hardware": result.hardware or None,
        "verdict": result.verdict.value,
        "seconds": round(result.seconds, 3),
        "levels": {level.level: _level(level) for level in sorted(result.levels, key=lambda v: LEVELS.index(v.level))},
        "reference": {agreement.level: _level(agreement) for agreement in result.reference},
        "problems": [
            {
                "side": problem.side,
                "verdict": problem.verdict.value,
                "message": problem.message,
                "file": problem.file or None,
                "line": problem.line or None,
                "help": problem.help or None,
                "version": problem.version or None,
            }
            for problem in result.problems
        ],
        "versions": [label or None for label in result.labels],
        "tiles": [_match(match) for match in result.matches],
        "hazards": {
            side: [hazard.as_json() for hazard in found]
            for side, found in zip(("before", "after"), result.hazards, strict=True)
        },
    }


def _match(match: TileMatch) -> dict[str, Any]:
    rows = {"before": match.before, "after": match.after}
    places = {side: None if row is None else {"tile": row.label, **row.as_json()} for side, row in rows.items()}
    return {"program": match.program, "how": match.how, "map_says": match.said or None, **places}


def _level(level: LevelVerdict) -> dict[str, Any]:
    return {
        "verdict": level.verdict.value,
        "summary": level.summary,
        "differences": [_difference(difference) for difference in level.differences],
        "count": level.count,
        "ulps": level.ulps,
        "notes": list(level.notes),
    }


def _difference(difference: Difference) -> dict[str, Any]:
    return {
        "message": difference.message,
        "before": _place(difference.before),
        "after": _place(difference.after),
        "maps": {"before": list(difference.maps[0]), "after": list(difference.maps[1])},
    }


def _place(place: Place | None) -> dict[str, Any] | None:
    if place is None:
        return None
    found = {"file": place.file, "line": place.line, "what": place.what}
    return {**found, "source": place.source or None, "version": place.version or None}
