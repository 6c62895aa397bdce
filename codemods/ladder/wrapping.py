"""Lines that the ladder made too long, and no author had, are written as ``black`` writes them, in the file's width."""

from __future__ import annotations

import ast

from ..syntax.drafts import Edit
from ..syntax.format import formatted, line_width

_WRAPPED = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return)
"""Statements of one line. What stops at a finding keeps its line: the next run finds it by its text."""


def wrapping(text: str, before: str) -> list[Edit]:
    """The edits of ``text`` that wrap the statements which have become longer than ``before`` allows."""
    width, lines = line_width(before), text.split("\n")
    known = {_head(line) for line in before.split("\n") if len(line) > width}
    long = {number for number, line in enumerate(lines, 1) if len(line) > width and _head(line) not in known}
    if not long:
        return []
    edits = []
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, _WRAPPED) or node.lineno not in long or node.end_lineno != node.lineno:
            continue
        line = lines[node.lineno - 1]
        whole = line.encode()
        margin, rest = whole[: node.col_offset].decode(), whole[node.end_col_offset :].decode()
        if margin.strip() or rest:
            continue  # a comment behind it, another statement beside it, or an end of line of its own
        own = line[len(margin) :]
        new = formatted(own, width - len(margin)).rstrip("\n").replace("\n", f"\n{margin}")
        if new != own:
            start = sum(len(each) + 1 for each in lines[: node.lineno - 1]) + len(margin)
            edits.append(Edit(start, start + len(own), new))
    return edits


def _head(line: str) -> str:
    """A line up to its first bracket."""
    return line.partition("(")[0]
