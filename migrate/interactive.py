"""``rewrite --interactive``: each part that may change alone is shown, explained, and asked for.

That part is a file, or the files that import each other, and no single hunk: one kernel of a file cannot stay at Beta 1
where the imports of its file are those of the new version, and a helper goes with its callers. Whatever is answered,
each file is the old one or the new one.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import click
from nki_migrate.runtime.cells import is_notebook

from . import output
from .discover import STDIN
from .errors import FileError
from .explain import described
from .notebook_reports import parts
from .patch import unified_diff
from .reports import DECLINED, Report, parsed
from .text import encoded

_KEYS = {
    "y": "write this part",
    "n": "leave it as it is",
    "a": "write this part and all that follow",
    "q": "leave this part and all that follow",
    "e": "edit the new text of this part first, then ask again",
    "?": "say what the keys do",
}

Editor = Callable[[str], "str | None"]
"""What a person makes of a text; ``None`` where it was not saved."""


def chosen(reports: Sequence[Report], context: int, editor: Editor | None = None) -> list[Report]:
    """The reports; what was declined is skipped. ``context`` is the lines around each change."""
    groups: dict[str, list[Report]] = {}
    for report in reports:
        if report.status == "changed" and report.path != STDIN:
            groups.setdefault(report.group or report.path, []).append(report)
    kept: dict[str, Report] = {}
    standing = ""
    for number, group in enumerate(groups.values(), 1):
        if not standing:
            answer, group = _answered(group, f"({number}/{len(groups)})", context, editor or _edited)
            standing = {"a": "y", "q": "n"}.get(answer, "")
            accepted = answer in ("y", "a")
        else:
            accepted = standing == "y"
        kept |= {each.path: each if accepted else _declined(each) for each in group}
    return [kept.get(report.path, report) for report in reports]


def show_modules(reports: Sequence[Report], context: int) -> None:
    """Show the modules that get functions which accepted parts need: they are written with these."""
    for report in reports:
        if report.status == "changed" and report.path in {other.home for other in reports}:
            _show([report], context)
            click.echo(f"{output.shown(report.path)} has what these files need: it is written with them.", err=True)


def _declined(report: Report) -> Report:
    return replace(report.failed(DECLINED), status="skipped")


def _answered(group: list[Report], place: str, context: int, editor: Editor) -> tuple[str, list[Report]]:
    """What a person says of a part, and the part as it was edited."""
    _show(group, context)
    while True:
        names = ", ".join(output.shown(report.path) for report in group)
        click.echo(f"{place} Write {names} [{','.join(_KEYS)}]? ", err=True, nl=False)
        answer = _line()
        if answer == "e":
            try:
                group = [_with_text(report, editor) for report in group]
            except FileError as error:
                click.echo(f"not taken: {error}", err=True)
            else:
                _show(group, context)
        elif answer in _KEYS and answer != "?":
            return answer, group
        else:
            output.print_lines((f"{key}  {what}" for key, what in _KEYS.items()), err=True)


def _line() -> str:
    """The answer; the end of the input declines the rest."""
    line = sys.stdin.readline() if sys.stdin is not None else ""
    return line.strip().lower() if line else "q"


def _show(group: Sequence[Report], context: int) -> None:
    for report in group:
        for path, before, after in parts(report):
            output.print_diff(unified_diff(path, before, after, context, is_added=report.is_added))
    counts: Counter[str] = Counter()
    for report in group:
        counts.update(report.applied)
    output.print_lines(_explanation(counts), err=True)
    output.print_lines((line for report in group for line in output.finding_lines(report)), err=True)
    output.print_lines((line for report in group for line in output.assumption_lines(report)), err=True)
    if len(group) > 1:
        click.echo("These files import each other: they change together.", err=True)


def _explanation(applied: Mapping[str, int]) -> Iterator[str]:
    """``CODE name, 3 times: what the rule does`` for each rule that was applied."""
    for code, count in sorted(applied.items()):
        found = described(code)
        name, summary = (found.name, found.summary) if found else ("", "")
        yield f"{code} {name}, {'once' if count == 1 else f'{count} times'}: {summary}"


def _with_text(report: Report, editor: Editor) -> Report:
    """The report on a file with what a person makes of its new text. Raises ``FileError`` where that is no Python."""
    if is_notebook(report.path):
        raise FileError(f"{report.path}: a notebook is not edited here")
    old = parsed(report.after)[0]
    text = editor(old.text)
    if text is None or text == old.text:
        return report
    try:
        ast.parse(text)
    except (SyntaxError, ValueError) as error:
        where = f"line {error.lineno}: {error.msg}" if isinstance(error, SyntaxError) else str(error)
        raise FileError(f"{report.path}: it does not parse: {where}") from error
    return replace(report, after=encoded(text, old), moves=())  # lines of declarations are others now


def _edited(text: str) -> str | None:
    try:
        return click.edit(text, extension=".py")
    except click.ClickException as error:  # what was answered so far is not lost for an editor
        raise FileError(f"{error.format_message()}: set VISUAL or EDITOR") from error
