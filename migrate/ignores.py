"""Comments that silence findings: ``# nki-migrate: ignore[NKI004] reason``.

A comment behind code is about the statement that it stands in, one on a line of its own about the next statement, all
of it: a function with its body, a loop with its. Above the first statement of a file it is about the file. It silences
findings and changes no rewrite: what was left is marked in a file that is written, whoever has been told.

Source: ruff's and mypy's comments, which are reported when they silence nothing (RUF100, ``warn_unused_ignores``).
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from nki_migrate.codemods.model import Finding
from nki_migrate.codemods.syntax.nodes import first_line

from .errors import FileError
from .reports import Report, parsed
from .surfaces.outcomes import UNUSED_IGNORE

_WORD = b"nki-migrate: ignore"
_COMMENT = re.compile(r"#\s*nki-migrate: ignore\b(?:\[([^\]]*)\])?")

Knows = Callable[[str], bool]
"""Would a command find what a code, or the beginning of one, stands for?"""
_STATIC = ("NKL", "ASC1")
"""How the codes begin of what ``check`` finds, and no rule of ``rewrite`` does."""


def rewrite_knows(code: str) -> bool:
    """Is it for ``rewrite`` to miss a finding of this code? It misses those that nothing has, too."""
    return not code.startswith(_STATIC)


def check_knows(code: str) -> bool:
    """Is it for ``check`` to miss a finding of this code?"""
    return code.startswith(_STATIC)


def is_nobodys(code: str) -> bool:
    """Of a run with a part of the rules: what a comment silences may be what nobody asked for."""
    return False


@dataclass(frozen=True)
class Ignore:
    """One comment: where it stands, the codes (or their beginnings) in it, and the lines that it is about."""

    line: int
    column: int
    codes: tuple[str, ...]
    lines: range

    def silences(self, finding: Finding, code: str) -> bool:
        return finding.line in self.lines and finding.code.startswith(code)


def with_ignores(report: Report, knows: Knows) -> Report:
    """The report without the findings that comments of its file silence, and with those on comments that silence none.

    Only codes that the command ``knows`` are missed. Findings that are silenced are ``ignored`` in the report.
    """
    if _WORD not in report.before or report.status not in ("changed", "unchanged"):
        return report
    try:
        text, tree = parsed(report.before)
        ignores = list(ignores_in(text.text, tree))
    except (FileError, tokenize.TokenError):
        return report
    used = {(each, code) for each in ignores for code in each.codes for f in report.findings if each.silences(f, code)}
    silenced = tuple(f for f in report.findings if any(each.silences(f, code) for each, code in used))
    rest = {f for f in report.findings if f not in silenced}
    useless = [_useless(each, code) for each in ignores for code in each.codes if (each, code) not in used]
    missed = [finding for code, finding in useless if knows(code)] + [
        _empty(each) for each in ignores if not each.codes
    ]
    return replace(report, findings=tuple(sorted({*rest, *missed})), ignored=silenced)


def without_codes(report: Report, codes: frozenset[str]) -> Report:
    """The report without findings of ``codes`` (or their beginnings); they are ``ignored`` in it."""
    silenced = tuple(f for f in report.findings if f.code.startswith(tuple(codes)))
    rest = tuple(f for f in report.findings if f not in silenced)
    return replace(report, findings=rest, ignored=(*report.ignored, *silenced)) if silenced else report


def ignores_in(text: str, tree: ast.Module) -> Iterator[Ignore]:
    """The comments of a text that silence findings."""
    statements = sorted((n for n in ast.walk(tree) if isinstance(n, ast.stmt)), key=first_line)
    last = text.count("\n") + 2
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        match = _COMMENT.match(token.string) if token.type == tokenize.COMMENT else None
        if match is not None:
            line, column = token.start
            codes = tuple(filter(None, (code.strip().upper() for code in (match[1] or "").split(","))))
            alone = token.line[:column].strip() == "" and "\n" not in token.line.rstrip("\n")
            yield Ignore(line, column + 1, codes, _lines(statements, line, alone, last))


def _lines(statements: list[ast.stmt], line: int, alone: bool, last: int) -> range:
    """The lines of the statement that a comment is about."""
    if alone and (not statements or line < first_line(statements[0])):
        return range(1, last)
    around = [node for node in statements if first_line(node) <= line <= (node.end_lineno or node.lineno)]
    inner = max(around, key=lambda node: (first_line(node), -(node.end_lineno or 0)), default=None)
    behind = next((node for node in statements if first_line(node) > line), None)
    is_header = inner is not None and line <= _header_end(inner)
    place = inner if not alone or is_header or behind is None else behind
    return range(first_line(place), (place.end_lineno or place.lineno) + 1) if place is not None else range(line, line)


def _header_end(node: ast.stmt) -> int:
    """The last line of a compound statement's header, or of a simple statement."""
    if not getattr(node, "body", None):
        return node.end_lineno or node.lineno
    parts = [n for n in ast.iter_child_nodes(node) if not isinstance(n, ast.stmt | ast.excepthandler | ast.match_case)]
    return max(
        [node.lineno, *(inner.end_lineno for n in parts for inner in ast.walk(n) if hasattr(inner, "end_lineno"))]
    )


def _useless(ignore: Ignore, code: str) -> tuple[str, Finding]:
    message = f"this comment ignores {code}, which is not found here"
    return code, _finding(ignore, message, f"remove {code} from it")


def _empty(ignore: Ignore) -> Finding:
    return _finding(ignore, "this comment names no code, and ignores nothing", "write ignore[CODE] and a reason")


def _finding(ignore: Ignore, message: str, help: str) -> Finding:
    return Finding(ignore.line, ignore.column, UNUSED_IGNORE, "manual", message, help)
