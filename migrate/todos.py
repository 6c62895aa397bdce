"""``rewrite --mark``: a comment ``# TODO(nki-migrate CODE): ...`` above each statement with a manual finding.

What a file is marked with is what a second run finds in it without marks: where half of a kernel is rewritten, that is
manual, too, which was for review before. So a third run finds the same, and takes a comment away once its finding is
gone. Comments are all that marks add: without them a file is what it is without ``--mark``, byte for byte.

Source: next-codemod, whose markers fail the build until someone has resolved them.
"""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from nki_migrate.codemods.model import Finding, Options
from nki_migrate.codemods.syntax.logical_lines import LogicalLines
from nki_migrate.codemods.syntax.mark_text import WORD

from .discover import STDIN, Found
from .errors import FileError
from .reports import Report
from .surfaces.outcomes import STALE_MARK
from .text import Text, decoded, with_lines, without_lines

Rewritten = Callable[[list[Found]], list[Report]]
"""What becomes of files."""

_WORD = b"TODO(nki-migrate "
_TODO = re.compile(r"# TODO\(nki-migrate ([A-Z]+\d+)\):")
_OWN_LINE = re.compile(r"\bline (\d+)(?! of )")
_MARKS = f"# {WORD}", f'assert False, "{WORD}'
"""How the lines begin that every rewrite marks a finding with."""


def with_todos(reports: Sequence[Report], files: Sequence[Found], options: Options, again: Rewritten) -> list[Report]:
    """The reports on ``files`` with their manual findings marked in what the files become, and old marks taken away.

    ``again`` rewrites files: what it finds in files that are rewritten is marked. Marks of rules that are not asked for
    stay. Files that fail, and notebooks, are left as they are.
    """
    maybe = {report.path: _bare(report, options) for report in reports if _takes_marks(report)}
    bare = {path: text for path, text in maybe.items() if text is not None}
    found = {report.path: report for report in reports}
    if any(text.data != found[path].before for path, text in bare.items()):
        found = {report.path: report for report in again(list(_become(reports, files, bare)))}
    return [
        _marked(report, bare[report.path], found[report.path], options) if report.path in bare else report
        for report in reports
    ]


def with_stale_marks(report: Report, options: Options) -> Report:
    """The report with a finding for each mark of the file whose own finding is not among them."""
    if _WORD not in report.before or not _takes_marks(report):
        return report
    try:
        text = decoded(report.before).text
        stale = tuple(_stale(text, report.findings, options))
    except (FileError, SyntaxError, ValueError, tokenize.TokenError):
        return report  # it does not concern the command
    if not stale:
        return report
    status = "unchanged" if report.status == "skipped" else report.status
    reason = None if report.status == "skipped" else report.reason
    return replace(report, status=status, reason=reason, findings=tuple(sorted({*report.findings, *stale})))


def _stale(text: str, findings: Iterable[Finding], options: Options) -> Iterator[Finding]:
    code = LogicalLines(text)
    lines = text.split("\n")
    known = {(finding.code, _owner(code, lines, finding.line)) for finding in findings}
    for line, marked in _todos(code, options):
        if (marked, _owner(code, lines, line)) not in known:
            column = len(lines[line - 1]) - len(lines[line - 1].lstrip()) + 1
            message = f"this comment marks {marked}, which is not found here"
            help = "remove the comment, or let rewrite --mark --write remove all such"
            yield Finding(line, column, STALE_MARK, "manual", message, help)


def _owner(code: LogicalLines, lines: Sequence[str], line: int) -> int:
    """The line of code that what is said at a line is about, behind comments and assertions that mark something."""
    place = code.statement(line)
    if place in code.comments:
        place = code.behind(place)
    while lines[place - 1].lstrip().startswith(_MARKS) and code.behind(place) != place:
        place = code.behind(place)
    return place


def _todos(code: LogicalLines, options: Options) -> Iterator[tuple[int, str]]:
    """The lines and the codes of the marks of rules that are asked for."""
    for line, comment in code.comments.items():
        match = _TODO.match(comment)
        if match is not None and options.selected(match[1]):
            yield line, match[1]


def _takes_marks(report: Report) -> bool:
    return report.status != "failed" and not report.path.endswith(".ipynb") and bool(report.before)


@dataclass(frozen=True)
class _Bare:
    """What a file becomes, without its marks, and the lines on which those stood."""

    data: bytes
    removed: tuple[int, ...]


def _bare(report: Report, options: Options) -> _Bare | None:
    """What a file becomes without its marks; ``None`` for one that has nothing to do with marks."""
    data = report.after if report.status == "changed" else report.before
    if _WORD not in data and not report.findings:
        return None
    try:
        text = decoded(data)
        lines = tuple(line for line, _code in _todos(LogicalLines(text.text), options))
    except (FileError, SyntaxError, ValueError, tokenize.TokenError):
        return None
    return _Bare(without_lines(text, lines), lines)


def _become(reports: Sequence[Report], files: Sequence[Found], bare: Mapping[str, _Bare]) -> Iterator[Found]:
    for file, report in zip(files, reports, strict=True):
        is_known = report.status == "changed" or file.path == STDIN
        after = report.after if report.status == "changed" else report.before
        data = bare[file.path].data if file.path in bare else after if is_known else None
        yield replace(file, data=data)


def _marked(report: Report, bare: _Bare, found: Report, options: Options) -> Report:
    """The report on a file that becomes ``bare``, in which those findings are ``found``."""
    if found.status == "failed":
        return report.failed(f"not marked: what a second run finds is not known: {found.reason}")
    try:
        text = decoded(bare.data)
        above = _above(text, [f for f in found.findings if f.applicability == "manual" and options.selected(f.code)])
        after = with_lines(text, above)
        if above and not _is_same_program(text, decoded(after)):
            raise FileError("a comment above a finding would change the program")
    except FileError as error:
        return report.failed(f"not marked: {error}")
    if after == report.before:
        return replace(report, status="unchanged" if report.status == "changed" else report.status, after=after)

    def shifted(lines: tuple[int, int]) -> tuple[int, int]:
        first, last = (line - sum(removed < line for removed in bare.removed) for line in lines)
        return first + _added(above, first), last + _added(above, last)

    moves = tuple(replace(move, new_lines=shifted(move.new_lines)) for move in report.moves)
    return replace(report, status="changed", reason=None, after=after, moves=moves)


def _added(above: Mapping[int, Sequence[str]], line: int) -> int:
    """How many lines are put in above a line, and those before it."""
    return sum(len(put) for place, put in above.items() if place <= line)


def _above(text: Text, findings: Iterable[Finding]) -> dict[int, list[str]]:
    """The marks of ``findings``, in lines of ``text``, by the line that they stand above."""
    code = LogicalLines(text.text)
    lines = text.text.split("\n")
    said: dict[int, set[tuple[str, str]]] = {}
    for finding in findings:
        message = " ".join(finding.message.split())
        said.setdefault(_place(code, lines, finding.line), set()).add((finding.code, message))

    def moved(match: re.Match[str]) -> str:
        line = int(match[1])
        return f"line {line + sum(len(messages) for place, messages in said.items() if place <= line)}"

    above = {}
    for place, messages in said.items():
        margin = lines[place - 1][: len(lines[place - 1]) - len(lines[place - 1].lstrip())]
        above[place] = [f"{margin}# TODO(nki-migrate {c}): {_OWN_LINE.sub(moved, m)}" for c, m in sorted(messages)]
    return above


def _place(code: LogicalLines, lines: Sequence[str], line: int) -> int:
    """The line that a mark stands above: the statement's first, or that of what every rewrite puts in front of it."""
    place = code.statement(line)
    while place > 1 and lines[place - 2].lstrip().startswith(_MARKS) and code.statement(place - 1) == place - 1:
        place -= 1
    return place


def _is_same_program(text: Text, marked: Text) -> bool:
    try:
        return ast.dump(ast.parse(text.text)) == ast.dump(ast.parse(marked.text))
    except SyntaxError:
        return False
