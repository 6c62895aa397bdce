"""A module's text and its ``ast``, with the text of any node at hand."""

from __future__ import annotations

import ast
from collections.abc import Iterable


class Source:
    """The text of one module (newlines are ``\\n``) and its parsed tree."""

    def __init__(self, text: str, filename: str = "<string>") -> None:
        self.text = text
        self.tree = ast.parse(text, filename)
        self._lines = text.split("\n")
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line) + 1)

    def offset(self, line: int, column: int) -> int:
        """Character offset of an ``ast`` position: 1-based line, UTF-8 byte column."""
        text = self._lines[line - 1]
        if not text.isascii():
            column = len(text.encode()[:column].decode())
        return self._starts[line - 1] + column

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Character offsets of a node that has a position."""
        start = self.offset(node.lineno, node.col_offset)  # type: ignore[attr-defined]
        return start, self.offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def segment(self, node: ast.AST, replacements: Iterable[tuple[ast.AST, str]] = ()) -> str:
        """The text of ``node``, with the text of some of its descendants replaced."""
        start, end = self.span(node)
        pieces, at = [], start
        for child, text in sorted(replacements, key=lambda item: self.span(item[0])[0]):
            child_start, child_end = self.span(child)
            pieces += [self.text[at:child_start], text]
            at = child_end
        text = "".join([*pieces, self.text[at:end]])
        return f"({text})" if "\n" in text and isinstance(node, ast.expr) and not _stands_alone(text) else text


def _stands_alone(text: str) -> bool:
    """Can an expression of several lines do without the brackets that it stood in?"""
    try:
        ast.parse(text, mode="eval")
    except SyntaxError:
        return False
    return True
