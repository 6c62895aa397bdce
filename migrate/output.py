"""Reports as text and as JSON, and where they are printed: plain and byte-stable, or on a terminal with colours."""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from .patch import changed_lines
from .reports import NOTEBOOK, STATUSES, Report, is_of_run, is_whole_beta1, not_concerned, without

if TYPE_CHECKING:
    from nki_migrate.codemods.model import Asserted, Finding


def shown(path: str) -> str:
    """A file's name for people: bytes that are no text are replaced."""
    return click.format_filename(path)


def is_terminal(*, err: bool = False) -> bool:
    """Does a person see what is printed, and want colours? (https://no-color.org, https://force-color.org)"""
    stream = sys.stderr if err else sys.stdout
    if os.environ.get("FORCE_COLOR") and not os.environ.get("NO_COLOR"):
        return stream is not None
    if stream is None or not stream.isatty():  # closed, or no terminal
        return False
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def print_lines(lines: Iterable[str], *, err: bool) -> None:
    """Lines of text."""
    if is_terminal(err=err):
        from . import terminal

        terminal.print_lines(lines, err=err)
    else:
        for line in lines:
            click.echo(line, err=err)


def print_diff(diff: bytes) -> None:
    """A diff; its bytes are those of the file unless a person looks at it."""
    if is_terminal():
        from . import terminal

        terminal.print_diff(diff)
    else:
        click.echo(diff, nl=False)


def advice(reports: Iterable[Report]) -> str:
    """What ``check`` says once of files that are Beta 1 still; empty where none is."""
    count = sum(bool(report.findings) and is_whole_beta1(report.source) for report in reports)
    are = "is" if count == 1 else "are"
    return (
        f"{plural(count, 'file')} {are} Beta 1 still: run `nki-migrate rewrite` on {'it' if count == 1 else 'them'}"
        if count
        else ""
    )


def nothing(reports: Sequence[Report], word: bytes) -> str:
    """What is said once of a run that no file concerns; empty where one does."""
    if not reports:
        return "nothing to do: there is no Python file and no notebook"
    if all(report.status == "skipped" and report.reason in not_concerned(word) for report in reports):
        return f"nothing to do: {'the file' if len(reports) == 1 else 'each of them'} {without(word)}, or is empty"
    return ""


def print_for_machines(output_format: str, text: str, summary_line: str) -> None:
    """``text`` on stdout. The log of a CI run shows little of it, so that the summary goes to stderr; JSON has it."""
    click.echo(text, nl=bool(text))
    if output_format != "json":
        click.echo(summary_line, err=True)


def print_findings(reports: Iterable[Report], word: bytes, *, err: bool) -> None:
    """Findings, assumptions, and the files that were skipped (unless they do not concern the command) or failed.

    ``word`` is what all files that concern it mention.
    """
    reports = list(reports)
    print_lines((line for report in reports for line in finding_lines(report)), err=err)
    print_lines((line for report in reports for line in assumption_lines(report)), err=err)
    print_lines(status_lines(reports, silent=not_concerned(word)), err=True)


def finding_lines(report: Report) -> Iterator[str]:
    """``path:line:column: CODE [applicability] message``, with the other lines of which it is said, and its help."""
    for finding, *others in _alike(report.findings):
        place = f"{shown(report.path)}:{report.shown_line(finding.line)}:{finding.column}"
        yield f"{place}: {finding.code} [{finding.applicability}] {finding.message}"
        if others:
            yield f"    also: {', '.join(_also(report, finding, other) for other in others)}"
        if finding.help:
            yield f"    help: {finding.help}"


def _alike(findings: Iterable[Finding]) -> list[list[Finding]]:
    """The findings of a file, those that say the same together, in the order of the first ones."""
    found: dict[tuple[str, str, str, str], list[Finding]] = {}
    for finding in findings:
        said = "" if finding.follows else finding.message
        found.setdefault((finding.code, finding.applicability, said, finding.help), []).append(finding)
    return list(found.values())


def _also(report: Report, first: Finding, other: Finding) -> str:
    """Where else something is said, and of which name, where that is another one."""
    name = re.match("'[^']*'", other.message) if other.message != first.message else None
    return (
        f"{name.group()} in line {report.shown_line(other.line)}" if name else f"line {report.shown_line(other.line)}"
    )


def assumption_lines(report: Report) -> Iterator[str]:
    """``path:line: note: 'kernel' asserts ...`` for each assumption of the rewrite."""
    for asserted in report.asserted:
        yield f"{shown(report.path)}:{report.shown_line(asserted.line)}: note: {assumption_text(asserted)}"


def assumption_text(asserted: Asserted) -> str:
    """What a rewritten kernel asserts, and why."""
    where = f"'{asserted.function}'" if asserted.function else "the module"
    return (
        f"{where} takes it that {asserted.text}: {asserted.why}"
        if asserted.text != "False"
        else f"{where} may end with an assertion: {asserted.why}"
    )


def decision_lines(report: Report) -> Iterator[str]:
    """``path:line: 'tensor': choice: reason`` for each tensor where the rewrite had a choice."""
    for decision in report.decisions:
        place = f"{shown(report.path)}:{report.shown_line(decision.line)}"
        yield f"{place}: '{decision.name}': {decision.choice}: {decision.reason}"


def stat_line(report: Report) -> str:
    """``path | +12 -7``: the lines that a file gains and loses."""
    added, removed = changed_lines(*report.listings)
    return f"{shown(report.path)} | +{added} -{removed}"


def status_lines(reports: Iterable[Report], silent: Container[str]) -> Iterator[str]:
    """Files that were skipped or failed, with the reason; those skipped for a reason in ``silent`` are only counted.

    What keeps a whole run from being written is one line, whatever the number of files.
    """
    unread = 0
    unwritten: Counter[str] = Counter()
    for report in reports:
        if report.reason == NOTEBOOK and report.status == "skipped":
            unread += 1
        elif report.reason is not None and is_of_run(report.reason):
            unwritten[report.reason] += 1
        elif report.reason is not None and report.reason not in silent:
            yield f"{shown(report.path)}: {report.status}: {report.reason}"
    yield from (f"{plural(count, 'file')} failed: {reason}" for reason, count in unwritten.items())
    if unread:
        yield f"{plural(unread, 'notebook')} skipped: {NOTEBOOK}"


def summary(reports: list[Report]) -> dict[str, Any]:
    """Counts that add up: ``files`` is the sum of the four statuses."""
    counts = Counter(report.status for report in reports)
    applied: Counter[str] = Counter()
    for report in reports:
        applied.update(report.applied)
    return {
        "files": len(reports),
        **{status: counts[status] for status in STATUSES},
        "findings": sum(len(report.findings) for report in reports),
        "ignored": sum(len(report.ignored) for report in reports),
        "assumptions": sum(len(report.asserted) for report in reports),
        "applied": dict(sorted(applied.items())),
    }


def as_json(reports: list[Report], *, decisions: bool = False) -> str:
    """The reports as one JSON document, with what was chosen and assumed where the command makes ``decisions``."""
    files = [
        {
            "path": report.path,
            "status": report.status,
            "reason": report.reason,
            "findings": [_finding(report, finding) for finding in report.findings],
            "ignored": [_finding(report, finding) for finding in report.ignored],
            **(_of_rewrite(report) if decisions else {}),
        }
        for report in reports
    ]
    return json.dumps({"files": files, "summary": summary(reports)}, indent=2)


def _of_rewrite(report: Report) -> dict[str, Any]:
    return {
        "assumptions": [asdict(asserted) | place_in(report, asserted.line) for asserted in report.asserted],
        "decisions": [asdict(decision) | place_in(report, decision.line) for decision in report.decisions],
    }


def place_in(report: Report, line: int) -> dict[str, int]:
    """A line of a file, or of a cell of a notebook."""
    cell, inner = report.place(line)
    return {"cell": cell, "line": inner} if cell else {"line": line}


def _finding(report: Report, finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "applicability": finding.applicability,
        **place_in(report, finding.line),
        "column": finding.column,
        "message": finding.message,
        "help": finding.help,
    }


def rewrite_summary(reports: list[Report], *, conditional: bool) -> str:
    """One line with the counts; ``conditional`` when nothing was written."""
    counts = summary(reports)
    changed = f"{counts['changed']} {'would change' if conditional else 'changed'}"
    left = sum(report.status == "unchanged" and bool(report.findings) for report in reports)
    unchanged = f"{counts['unchanged']} unchanged{f' ({left} with findings)' if left else ''}"
    rest = f"{unchanged}, {counts['skipped']} skipped, {counts['failed']} failed"
    assumptions = f"; {plural(counts['assumptions'], 'assumption')}" if counts["assumptions"] else ""
    return f"{plural(counts['files'], 'file')}: {changed}, {rest}; {_findings(reports)}{assumptions}{_ignored(reports)}"


def check_summary(reports: list[Report]) -> str:
    """One line with the counts of ``check``."""
    counts = summary(reports)
    illegal = sum(1 for report in reports if report.findings)
    legal = counts["unchanged"] - illegal
    return (
        f"{plural(counts['files'], 'file')}: {legal} legal, {illegal} not legal, {counts['skipped']} skipped, "
        f"{counts['failed']} failed; {_findings(reports)}{_ignored(reports)}"
    )


def _findings(reports: list[Report]) -> str:
    kinds = Counter(finding.applicability for report in reports for finding in report.findings)
    total = plural(kinds.total(), "finding")
    return total + (f" ({', '.join(f'{count} {kind}' for kind, count in sorted(kinds.items()))})" if kinds else "")


def _ignored(reports: list[Report]) -> str:
    count = sum(len(report.ignored) for report in reports)
    return f"; {count} ignored" if count else ""


def plural(count: int, noun: str) -> str:
    """``1 file``, ``2 files``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
