"""Where a comment may stand above a statement: never inside of a string, of brackets or of a continued line."""

from __future__ import annotations

import ast
import bisect
import io
import tokenize
from functools import cached_property

from .node_index import tree_of
from .nodes import first_line

_NO_CODE = frozenset({tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER})


class LogicalLines:
    """The logical lines of a text that parses, by their first and last physical lines (1-based), and its comments.

    ``comments`` are those on lines of their own, without their margins. Raises ``SyntaxError`` or
    ``tokenize.TokenError`` for a text that does not parse.
    """

    def __init__(self, text: str) -> None:
        self._tree = tree_of(text)
        self._extents: list[tuple[int, int]] = []
        self.comments: dict[int, str] = {}
        first = 0
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT and not token.line[: token.start[1]].strip():
                self.comments[token.start[0]] = token.string
            elif token.type == tokenize.NEWLINE:
                self._extents.append((first, token.start[0]))
                first = 0
            elif token.type not in _NO_CODE:
                first = first or token.start[0]
        self.comments = {line: text for line, text in self.comments.items() if self._extent(line) is None}

    def statement(self, line: int) -> int:
        """The first line of the innermost statement that a line is in, with what stands before it on that line.

        A comment, and a line of no statement, is its own.
        """
        if line in self.comments:
            return line
        around = [first for first, last in self._statements if first <= line <= last]
        place = max(around, default=line)
        extent = self._extent(place)
        return extent[0] if extent is not None else place

    def is_whole(self, line: int) -> bool:
        """Is a physical line all of a logical one, no part of what brackets, a string or a backslash go on with?"""
        return self._extent(line) == (line, line)

    def behind(self, line: int) -> int:
        """The first logical line that begins behind a line; the line itself where there is none."""
        index = bisect.bisect_right(self._extents, line, key=lambda extent: extent[0])
        return self._extents[index][0] if index < len(self._extents) else line

    def _extent(self, line: int) -> tuple[int, int] | None:
        index = bisect.bisect_right(self._extents, line, key=lambda extent: extent[0]) - 1
        return self._extents[index] if index >= 0 and line <= self._extents[index][1] else None

    @cached_property
    def _statements(self) -> list[tuple[int, int]]:
        nodes = [node for node in ast.walk(self._tree) if isinstance(node, ast.stmt)]
        return [(first_line(node), node.end_lineno or node.lineno) for node in nodes]
