"""Comments on declarations that move into a loop go with them."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

import libcst as cst

from ..syntax.comments import Lines, Statement, comment_lines, comments_of, lines_above

if TYPE_CHECKING:
    from ..expr.emission import Edits, New


class MovedComments:
    """The comments of the declarations of one module that stand in a loop now, until those are written there."""

    def __init__(self, edits: Edits) -> None:
        moved = {new.moved for lines in edits.prologue.values() for new in lines if new.moved is not None}
        self._moved = {statement for statement in moved if not edits.replaced.get(statement)}
        self._held: dict[ast.stmt, Lines] = {}

    def taken(self, statements: Sequence[ast.stmt], node: Statement, following: cst.BaseStatement | None) -> Statement:
        """A line without the comments that go with its declaration.

        One above several lines may be about them all: it stays where a line without any follows directly.
        """
        if not self._moved.issuperset(statements):
            return node
        lines: Lines = []
        if following is None or lines_above(following):
            lines = [cst.EmptyLine(comment=line.comment) for line in comment_lines(node)]
            node = node.with_changes(leading_lines=[line for line in lines_above(node) if line.comment is None])
        _, end = comments_of(node)
        if end is not None and isinstance(node, cst.SimpleStatementLine):
            lines = [*lines, cst.EmptyLine(comment=end)]
            space = node.trailing_whitespace.with_changes(comment=None)
            node = node.with_changes(trailing_whitespace=space)
        self._held[statements[0]] = lines
        return node

    def given(self, new: New, written: list[Statement]) -> list[Statement]:
        """The statements of a declaration in its loop, with its comments above the first."""
        lines = self._held.pop(new.moved, None) if new.moved is not None else None
        if not lines or not written:
            return written
        return [written[0].with_changes(leading_lines=[*lines, *lines_above(written[0])]), *written[1:]]
