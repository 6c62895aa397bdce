"""Lines of source with something to say: what GitHub's annotations and SARIF have in common."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ..output import assumption_text, plural
from ..reports import NOTEBOOK as NOTEBOOK_REASON
from . import outcomes
from .fixes import Edit

if TYPE_CHECKING:
    from nki_migrate.runtime.compare import Difference, LevelVerdict, Place, TileMatch

    from ..reports import Report
    from ..verdicts import CaseResult, Problem, Proof

Severity = Literal["error", "warning", "note"]

# How the reason of a failed file begins when it is about one line.
_AT_LINE = re.compile(r"line (\d+): ")


@dataclass(frozen=True)
class Annotation:
    """Something to say about a line.

    ``line`` and ``column`` count from 1; 0 is unknown, or of a version of the file that is not on disk. ``title`` is
    short and without a line end; ``related`` is the other side of a difference. ``failed`` says that the tool could not
    do its work on the file. ``edits`` resolve it, all of them together.
    """

    path: str
    line: int
    column: int
    severity: Severity
    code: str
    title: str
    message: str
    related: Place | None = None
    failed: bool = False
    edits: tuple[Edit, ...] = ()


def source_path(path: str) -> str:
    """A path as the repository's host knows it: relative to its root if it is below it, else absolute.

    The root is ``GITHUB_WORKSPACE`` where that is set, else the working directory.
    """
    root = os.environ.get("GITHUB_WORKSPACE") or os.getcwd()
    relative = os.path.relpath(os.path.abspath(path), root)
    inside = relative != os.pardir and not relative.startswith(os.pardir + os.sep)
    return (relative if inside else os.path.abspath(path)).replace(os.sep, "/")


def of_reports(command: str, reports: list[Report], *, changes_are_done: bool) -> Iterator[Annotation]:
    """Findings, assumptions, files that would change, failed files and notebooks, in the order of the reports."""
    severity: Severity = "error" if command == "check" else "warning"
    groups: dict[str, list[Report]] = {}
    for report in reports:
        if report.status == "changed":
            groups.setdefault(report.group or report.path, []).append(report)
    for report in reports:
        for found in report.findings:
            text = f"{found.message}\n{found.help}" if found.help else found.message
            line, column, text = _place(report, found.line, found.column, text)
            yield Annotation(report.path, line, column, severity, found.code, found.applicability, text)
        for asserted in report.asserted:
            line, _, text = _place(report, asserted.line, 0, assumption_text(asserted))
            yield Annotation(report.path, line, 0, "note", outcomes.ASSUMPTION, "assumption", text)
        if report.status == "failed":
            match = _AT_LINE.match(report.reason or "")
            line = int(match[1]) if match else 0
            text = report.reason or "failed"
            yield Annotation(report.path, line, 0, "error", outcomes.FAILED, "failed", text, failed=True)
        elif report.reason == NOTEBOOK_REASON:
            yield Annotation(report.path, 0, 0, "warning", outcomes.NOTEBOOK, "skipped", report.reason)
        elif report.status == "changed" and not changes_are_done:
            yield _would_change(report, groups[report.group or report.path])


def _place(report: Report, line: int, column: int, text: str) -> tuple[int, int, str]:
    """The line and column of a file, and a text; of a notebook the line of its JSON, and the cell in the text."""
    cell, inner = report.place(line)
    return (report.file_line(line), 0, f"cell {cell}, line {inner}: {text}") if cell else (line, column, text)


def _would_change(report: Report, group: list[Report]) -> Annotation:
    """Of files that change together the first has the edits of all: none of them is right alone."""
    old, new = report.before.splitlines(), report.after.splitlines()
    line = next((n for n, (a, b) in enumerate(zip(old, new, strict=False), 1) if a != b), min(len(old), len(new)) + 1)
    rules = ", ".join(f"{code} ({count})" for code, count in sorted(report.applied.items()))
    what = "would be added" if report.is_added else "would change"
    text = f"{what}: {rules}" if rules else what
    if report.needs:
        text += f", with functions that {source_path(report.home)} gets"
    first = group[0]
    if report is not first:
        text += f", together with {source_path(first.path)}"
    edits = tuple(Edit(each.path, each.before, each.after) for each in group) if report is first else ()
    line = min(line, max(len(old), 1))
    advice = "nki-migrate rewrite shows the diff, nki-migrate rewrite --write changes the file"
    text = f"{text}\n{advice}"
    return Annotation(report.path, line, 0, "warning", outcomes.WOULD_CHANGE, "Beta 1", text, edits=edits)


def of_proof(proof: Proof) -> Iterator[Annotation]:
    """Everything that is not *equal*: at the line of the new kernel where there is one, else of the old one."""
    for result in proof.results:
        yield from _of_result(result)


def titled(result: CaseResult) -> str:
    """``kernel, case (hardware)``, as far as they are known."""
    title = ", ".join(filter(None, (result.kernel, result.case))) or "the file"
    return f"{title} ({result.hardware})" if result.hardware else title


def _of_result(result: CaseResult) -> Iterator[Annotation]:
    for problem in result.problems:
        yield _of_problem(result, problem)
    stopped = any(problem.side != "reference" for problem in result.problems)
    for level in result.levels:
        if level.verdict == "different" or (level.verdict != "equal" and not stopped):
            yield from _of_level(result, level, outcomes.OF_LEVEL[level.level], level.level)
    for agreement in result.reference:
        if agreement.verdict != "equal":
            yield from _of_level(result, agreement, outcomes.REFERENCE, f"{agreement.level} against the reference")
    for match in result.unmatched:
        yield from _of_unmatched(result, match)
    for match in result.contradicted:
        yield from _of_contradiction(result, match)


def _of_unmatched(result: CaseResult, match: TileMatch) -> Iterator[Annotation]:
    for tile, label, other in zip((match.before, match.after), result.labels, ("after", "before"), strict=True):
        if tile is not None:
            text = f"tile '{tile.label}' has no counterpart {other}: no instruction touches it"
            if label:
                text += f"\n{_place_text(tile.file, tile.line, label)}"
            title = f"{titled(result)}: unmatched tile"
            yield Annotation(tile.file, 0 if label else tile.line, 0, "warning", outcomes.UNMATCHED, title, text)


def _of_contradiction(result: CaseResult, match: TileMatch) -> Iterator[Annotation]:
    old, new = match.before, match.after
    if old is not None and new is not None:
        text = (
            f"the instructions put '{new.label}' ({_place_text(new.file, new.line, result.labels[1])}) in the place of "
        )
        text += f"'{old.label}', the rewrite's map says {match.said}"
        title = f"{titled(result)}: contradicted tile"
        yield Annotation(old.file, old.line, 0, "warning", outcomes.CONTRADICTED, title, text)


def _of_problem(result: CaseResult, problem: Problem) -> Annotation:
    undecided = problem.verdict == "undecided"
    side = result.after if problem.side == "after" else result.before
    text = problem.message if problem.side == "case" else f"{problem.side}: {problem.message}"
    if problem.version and problem.line:
        text += f"\n{_place_text(problem.file, problem.line, problem.version)}"
    return Annotation(
        problem.file or side,
        0 if problem.version else problem.line,
        0,
        "warning" if undecided else "error",
        outcomes.UNDECIDED if undecided else outcomes.BROKEN,
        f"{titled(result)}: {problem.verdict.value}",
        f"{text}\n{problem.help}" if problem.help else text,
    )


def _of_level(result: CaseResult, level: LevelVerdict, code: str, name: str) -> Iterator[Annotation]:
    """One annotation a difference; the last one tells how many more there are."""
    if level.verdict == "undecided":
        code = outcomes.UNDECIDED
    severity: Severity = "warning" if level.verdict == "undecided" else "error"
    title = f"{titled(result)}: {name} {level.verdict.value}"
    if not level.differences:
        yield Annotation(result.after or result.before, 0, 0, severity, code, title, level.summary)
    hidden = level.count - len(level.differences)
    for number, difference in enumerate(level.differences, 1):
        more = f"\nand {plural(hidden, 'more difference')}" if hidden > 0 and number == len(level.differences) else ""
        at, other = _on_disk_first(difference.after, difference.before)
        path, line = (at.file, 0 if at.version else at.line) if at else (result.after or result.before, 0)
        related = None if other is None or other.version else other
        yield Annotation(path, line, 0, severity, code, title, _both_sides(difference) + more, related)


def _on_disk_first(after: Place | None, before: Place | None) -> tuple[Place | None, Place | None]:
    """The new side first, unless only the old one is a line of a file as it is: nobody can look at the others."""
    if after is None or (after.version and before is not None and not before.version):
        return before, after
    return after, before


def _both_sides(difference: Difference) -> str:
    lines = [difference.message]
    for side, place in (("before", difference.before), ("after", difference.after)):
        if place is not None:
            lines.append(f"{side}: {_place_text(place.file, place.line, place.version)}: {place.what}")
    return "\n".join(lines)


def _place_text(file: str, line: int, version: str) -> str:
    return f"{source_path(file)}:{line}" + (f" ({version})" if version else "")
