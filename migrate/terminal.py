"""What a person sees on a terminal: the same facts as the plain text, with colours, and tables as wide as the window.

The only module that imports rich, and it is only imported when the output goes to a terminal.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, TextIO

from rich.console import Console
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from .verdicts import CaseResult, Proof

VERDICT_STYLES = {"equal": "green", "different": "bold red", "undecided": "yellow", "error": "magenta"}
_WORDS = re.compile(r"(?<![\w-])(equal|different|undecided|error)(?![\w-])")
_PLACE = re.compile(r"^(?P<place>[^\s:][^:]*:\d+:\d+): (?P<code>[A-Z]+\d+) (?P<kind>\[\w+\])")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_DIFF_STYLES = (("--- ", "bold"), ("+++ ", "bold"), ("@@", "cyan"), ("-", "red"), ("+", "green"), ("\\", "dim"))
_CODE = re.compile(r"`([^`]+)`")
_LISTING_HEAD = re.compile(r"^(Before|After|Refused|Legal)\b.*:$")


def console(stream: TextIO | None = None) -> Console:
    """A console that prints text as it is: no markup, no emoji, no guesses."""
    return Console(file=stream or sys.stdout, markup=False, emoji=False, highlight=False)


def visible(text: str) -> str:
    """``text`` without control characters that a terminal would obey: ``^[`` for escape."""
    return _CONTROL.sub(lambda match: f"^{chr(ord(match[0]) ^ 64)}" if match[0] < "\x80" else "�", text)


def print_diff(diff: bytes) -> None:
    """A unified diff: removed lines red, added lines green, places cyan, names bold."""
    out = console()
    for line in diff.decode("utf-8", "replace").split("\n")[:-1]:
        style = next((style for start, style in _DIFF_STYLES if line.startswith(start)), "")
        out.print(Text(visible(line), style), soft_wrap=True)


def print_lines(lines: Iterable[str], *, err: bool) -> None:
    """Findings and summaries: places bold, codes cyan, verdicts in their colours."""
    out = console(sys.stderr if err else sys.stdout)
    for line in lines:
        out.print(_line(line), soft_wrap=True)


def _line(line: str) -> Text:
    text = Text(visible(line))
    match = _PLACE.match(text.plain)
    if match:
        text.stylize("bold", *match.span("place"))
        text.stylize("cyan", *match.span("code"))
        text.stylize("dim", *match.span("kind"))
    elif text.plain.lstrip().startswith(("help:", "note:")):
        text.stylize("dim")
    else:
        for word in _WORDS.finditer(text.plain):
            text.stylize(VERDICT_STYLES[word[0]], *word.span())
    return text


def print_table(rows: Sequence[Sequence[str]]) -> None:
    """Rows of equal length; the first is the heading, the last column takes the rest of the window and wraps."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    heading, *body = rows
    for column, title in enumerate(heading):
        last = column == len(heading) - 1
        table.add_column(title, style="cyan" if column == 0 else None, no_wrap=not last, overflow="fold")
    for row in body:
        table.add_row(*(Text(visible(cell)) for cell in row))
    console().print(table)


def print_explanation(text: str) -> None:
    """The text of ``explain``: its headline bold, listings of Python in colours."""
    out = console()
    is_listing = False
    for number, paragraph in enumerate(text.split("\n\n")):
        if number:
            out.print()
        is_listing = paragraph.startswith("    ") or (is_listing and paragraph.startswith(("\n", " ")))
        if is_listing:
            out.print(Syntax(paragraph, "python", theme="ansi_dark", background_color="default", word_wrap=False))
            continue
        shown = Text(visible(paragraph), "bold" if number == 0 or _LISTING_HEAD.match(paragraph) else "")
        shown.highlight_regex(_CODE, "cyan")
        out.print(shown, soft_wrap=True)


def print_proof(proof: Proof, *, tiles: bool = False) -> None:
    """A table for each pair of files, then in full what is not equal; with ``tiles`` everything."""
    from .verdicts import CONTRACT, result_text, summary

    out = console()
    for pair, group in groupby(proof.results, key=lambda result: (result.before, result.after)):
        results = list(group)
        out.print(Text(visible(" -> ".join(filter(None, pair))), "bold"), soft_wrap=True)
        if any(result.levels for result in results):
            out.print(_levels(results))
        texts = (result_text(r, tiles=tiles) for r in results if tiles or r.doubts or r.ulps or r.verdict != "equal")
        print_lines((line for text in texts for line in text.split("\n")), err=False)
        out.print()
    for note in proof.notes:
        out.print(Text(visible(f"note: {note}"), "dim"), soft_wrap=True)
    print_lines([summary(proof)], err=False)
    out.print(Text(CONTRACT, "dim"))


def _levels(results: Sequence[CaseResult]) -> Table:
    names = list(dict.fromkeys(level.level for result in results for level in result.levels))
    table = Table(box=None, pad_edge=False, header_style="dim")
    for title in ("  kernel", "case", "target", *names, "reference"):
        table.add_column(title, overflow="fold")
    table.add_column("seconds", justify="right")
    for result in results:
        found = {level.level: level.verdict.value for level in result.levels}
        agreed = "/".join(dict.fromkeys(agreement.verdict.value for agreement in result.reference))
        cells = [Text(visible(cell)) for cell in (f"  {result.kernel}", result.case, result.hardware)]
        cells += [_verdict(found.get(name, "")) for name in names]
        table.add_row(*cells, _verdict(agreed), f"{result.seconds:.2f}")
    return table


def _verdict(word: str) -> Text:
    return Text(word or "-", VERDICT_STYLES.get(word.partition("/")[2] or word, "dim"))
