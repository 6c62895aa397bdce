"""Lines that rules on text have made longer than the lines of the file are: set as black sets them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from ..syntax.format import formatted, line_width
from ..syntax.logical_lines import LogicalLines
from .line_origins import Line

_BODY = " pass"


def fitted(lines: Sequence[Line], text: str) -> list[Line]:
    """``lines`` of what the module ``text`` becomes: statements and headers of functions on as many as they need.

    A line that the module has, at whatever margin, stays as long as it is, and so does one with a comment.
    """
    width, known = line_width(text), {line.strip() for line in text.split("\n")}
    long = {n for n, line in enumerate(lines, 1) if len(line.text) > width and line.text.strip() not in known}
    logical = LogicalLines("\n".join(line.text for line in lines)) if long else None
    whole = {n for n in long if logical is not None and logical.is_whole(n)}
    return [new for n, line in enumerate(lines, 1) for new in (_fitted(line, width) if n in whole else [line])]


def _fitted(line: Line, width: int) -> Iterator[Line]:
    text = line.text.strip()
    body = _BODY if text.startswith("def ") else ""
    if "#" in text or not _is_simple(text + body):
        yield line
        return
    margin = line.text[: len(line.text) - len(line.text.lstrip())]
    for new in formatted(text + body, width - len(margin)).rstrip("\n").split("\n"):
        if not body or new.strip() != body.strip():
            yield Line(margin + new, line.origin, line.shift)


def _is_simple(text: str) -> bool:
    """Is a logical line one statement without a body, or, with one behind it, the header of a function?"""
    try:
        statements = ast.parse(text).body
    except SyntaxError:
        return False
    return len(statements) == 1 and isinstance(statements[0], ast.FunctionDef | ast.Assign | ast.Expr | ast.Return)
