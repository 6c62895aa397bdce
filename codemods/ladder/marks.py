"""What the ladder leaves in a text for the next run: a stop where kernels would compute something else, else a comment.

A text that has climbed shows its old version no more, so a construct that stays is known again by its mark alone.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator

from ..model import Finding
from ..syntax.drafts import Edit
from ..syntax.mark_text import is_mark, mark_of
from ..syntax.nodes import first_line
from .rung import Rung


def stops_at(rung: Rung, node: ast.AST, code: str) -> bool:
    """Does an assertion of an earlier run stand in front of a construct?"""
    statement = rung.statement(node)
    for name in ("body", "orelse", "finalbody"):
        block = getattr(rung.parents.get(statement), name, [])
        if isinstance(block, list) and statement in block:
            at = block.index(statement)
            while at and isinstance(block[at - 1], ast.Assert) and is_mark(block[at - 1]):
                at -= 1
                if code in ast.unparse(block[at]):
                    return True
    return False


def stop(rung: Rung, node: ast.AST, finding: Finding) -> Edit | None:
    """The assertion in front of a construct; ``None`` behind a semicolon or a colon."""
    statement = rung.statement(node)
    margin = _line(rung, statement.lineno)[: statement.col_offset]
    if margin.strip():
        return None
    said = json.dumps(mark_of(finding.code, finding.message), ensure_ascii=False)
    start = rung.start(statement)
    return Edit(start, start, f"assert False, {said}\n{margin}")


def comment(rung: Rung, node: ast.AST, finding: Finding) -> Edit:
    """The comment above the statement of a construct."""
    line = place(rung, node)
    text = _line(rung, line)
    margin = text[: len(text) - len(text.lstrip())]
    start = rung.line_start(line)
    return Edit(start, start, f"{margin}# {mark_of(finding.code, finding.message)}\n")


def comments_on(rung: Rung, node: ast.AST, code: str) -> tuple[Edit, ...]:
    """What takes the comments of earlier runs on a construct away."""
    return tuple(
        Edit(rung.line_start(line), rung.line_start(line + 1), "")
        for line in _comment_lines(rung, node)
        if _is_comment_of(_line(rung, line), code)
    )


def place(rung: Rung, node: ast.AST) -> int:
    """The line that the comment on a construct stands above: the first of a statement that begins its line."""
    statement = rung.statement(node)
    while True:
        line = first_line(statement)
        is_own = not _line(rung, line)[: statement.col_offset].strip(" \t@")
        above = rung.parents.get(statement)
        if (is_own and not _line(rung, line - 1).endswith("\\")) or not isinstance(above, ast.stmt):
            return line
        statement = above


def _comment_lines(rung: Rung, node: ast.AST) -> Iterator[int]:
    line = place(rung, node) - 1
    while line and _line(rung, line).lstrip().startswith("#"):
        yield line
        line -= 1


def _is_comment_of(line: str, code: str) -> bool:
    return line.lstrip("# \t").startswith(mark_of(code, "").rstrip())


def _line(rung: Rung, number: int) -> str:
    """A line by its number, which begins at 1; empty for number 0."""
    return rung.text[rung.line_start(number) : rung.line_start(number + 1)].removesuffix("\n") if number else ""
