"""The proof that ``verify`` prints: results of cases as text and as JSON."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import click
from nki_migrate.runtime.compare import LEVELS, Difference, LevelVerdict, Place, TileRow, Verdict, worst

CONTRACT = (
    "The contract is emulator(old) against emulator(new), never hardware: how either kernel behaves on a device is not "
    "part of this proof."
)
_COLOURS = {"equal": "green", "different": "red", "undecided": "yellow", "error": "magenta"}


@dataclass(frozen=True)
class Problem:
    """Why something could not be compared: the ``case``, the ``before`` or ``after`` kernel, or the ``reference``."""

    side: str
    verdict: Verdict
    message: str
    file: str = ""
    line: int = 0
    help: str = ""


@dataclass(frozen=True)
class CaseResult:
    """One case of one kernel. ``kernel`` is empty for a file that does not load, ``case`` where there is no case.

    ``tiles`` are the distinct ones of the runs before and after, ``seconds`` how long both runs took.
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


def as_text(proof: Proof) -> str:
    """The proof for people. Colours are stripped by ``click.echo`` when it does not write to a terminal."""
    lines: list[str] = []
    pair: tuple[str, str] | None = None
    for result in proof.results:
        if (result.before, result.after) != pair:
            pair = (result.before, result.after)
            lines += ["", f"{result.before} -> {result.after}" if result.after else result.before]
        lines += _result_lines(result)
    lines += ["", *(f"note: {note}" for note in proof.notes), _summary(proof), CONTRACT]
    return "\n".join(lines[1:] if not lines[0] else lines)


def as_plain_text(proof: Proof) -> str:
    """The same without colours, whatever prints it."""
    return click.unstyle(as_text(proof))


def _summary(proof: Proof) -> str:
    counts = proof.counts
    total = len(proof.results)
    parts = [
        f"{counts[verdict.value]} {'in ' if verdict is Verdict.ERROR else ''}{verdict.value}" for verdict in Verdict
    ]
    return f"{total} case{'' if total == 1 else 's'}: {', '.join(parts)}"


def result_text(result: CaseResult) -> str:
    """What the proof says about one case, without colours."""
    return click.unstyle("\n".join(_result_lines(result)))


def _result_lines(result: CaseResult) -> Iterator[str]:
    title = result.kernel or "the file"
    title += f", {result.case}" if result.case else ""
    title += f" ({result.hardware})" if result.hardware else ""
    yield f"  {title}: {_coloured(result.verdict)}"
    for problem in result.problems:
        place = f"{_shown(problem.file)}:{problem.line}: " if problem.line else ""
        side = "" if problem.side == "case" else f"{problem.side}: "
        yield f"    {side}{problem.verdict.value}: {place}{problem.message}"
        if problem.help:
            yield f"      {problem.help}"
    for level in result.levels:
        yield from _level_lines(level.level, level, level.summary)
    for agreement in result.reference:
        yield from _level_lines("reference", agreement, f"{agreement.level} {agreement.summary}")


def _level_lines(name: str, level: LevelVerdict, summary: str) -> Iterator[str]:
    yield f"    {name:<10} {_coloured(level.verdict, 9)}  {summary}"
    for note in level.notes:
        yield f"      note: {note}"
    for difference in level.differences:
        yield f"      {difference.message}"
        for side, place in (("before", difference.before), ("after ", difference.after)):
            if place is not None:
                yield f"        {side} {_shown(place.file)}:{place.line}: {place.what}"
    hidden = level.count - len(level.differences)
    if hidden > 0:
        yield f"      and {hidden} more"


def _coloured(verdict: Verdict, width: int = 0) -> str:
    return click.style(verdict.value.ljust(width), fg=_COLOURS[verdict.value])


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
            }
            for problem in result.problems
        ],
    }


def _level(level: LevelVerdict) -> dict[str, Any]:
    return {
        "verdict": level.verdict.value,
        "summary": level.summary,
        "differences": [_difference(difference) for difference in level.differences],
        "count": level.count,
        "notes": list(level.notes),
    }


def _difference(difference: Difference) -> dict[str, Any]:
    return {
        "message": difference.message,
        "before": _place(difference.before),
        "after": _place(difference.after),
    }


def _place(place: Place | None) -> dict[str, Any] | None:
    return None if place is None else {"file": place.file, "line": place.line, "what": place.what}
