"""Lines that rules on text have made longer than the lines of the file are: set as black sets them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from ..syntax.format import formatted, line_width
from .line_origins import Line

_BODY = " pass"


def fitted(lines: Sequence[Line], text: str) -> list[Line]:
    """``lines`` of what the module ``text`` becomes: statements and headers of functions on as many as they need.

    A line that the module has, at whatever margin, stays as long as it is, and so does one with a comment.
    """
    width, known = line_width(text), {line.strip() for line in text.split("\n")}
    return [new for line in lines for new in _fitted(line, width, known)]


def _fitted(line: Line, width: int, known: set[str]) -> Iterator[Line]:
    text = line.text.strip()
    body = _BODY if text.startswith("def ") else ""
    if len(line.text) <= width or text in known or "#" in text or not _is_whole(text + body):
        yield line
        return
    margin = line.text[: len(line.text) - len(line.text.lstrip())]
    for new in formatted(text + body, width - len(margin)).rstrip("\n").split("\n"):
        if not body or new.strip() != body.strip():
            yield Line(margin + new, line.origin, line.shift)


def _is_whole(text: str) -> bool:
    """Is a line all of a statement that has no body, or, with one behind it, all of the header of a function?"""
    try:
        statements = ast.parse(text).body
    except SyntaxError:
        return False
    return len(statements) == 1 and isinstance(statements[0], ast.FunctionDef | ast.Assign | ast.Expr | ast.Return)
