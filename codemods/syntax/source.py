"""A module's text and its ``ast``, with the text of any node at hand."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import TypeVar

from .node_index import children, tree_of, trees_changed

Node = TypeVar("Node", bound=ast.AST)


def written_as(node: Node, text: str) -> Node:
    """``node``, which stands in the tree for other code, with the text that it is written as."""
    node.written = text  # type: ignore[attr-defined]  # a mark of ours on the node
    return node


def written(node: ast.AST) -> str | None:
    """The text of a node that stands for other code; ``None`` for all that the source has as it is."""
    return getattr(node, "written", None)


def expanded(function: ast.FunctionDef) -> ast.FunctionDef:
    """``function``, whose parameters are other ones now than the source has."""
    function.expanded = True  # type: ignore[attr-defined]  # a mark of ours on the node
    trees_changed()
    return function


def is_expanded(function: ast.FunctionDef) -> bool:
    """Has a function other parameters than the source has?"""
    return getattr(function, "expanded", False)


class Source:
    """The text of one module (newlines are ``\\n``) and its parsed tree.

    ``is_expanded`` says that some nodes of the tree stand for other code than the text has there: only a tree of one's
    own (``changes``) may come to that, others are shared by all who read the text.
    """

    def __init__(self, text: str, filename: str = "<string>", changes: bool = False) -> None:
        self.text = text
        self.tree = ast.parse(text, filename) if changes else _shared_tree(text, filename)
        self.is_expanded = False
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

    def place(self, offset: int) -> tuple[int, int]:
        """0-based line and column of a character."""
        line = bisect_right(self._starts, offset) - 1
        return line, offset - self._starts[line]

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Character offsets of a node that has a position."""
        start = self.offset(node.lineno, node.col_offset)  # type: ignore[attr-defined]  # nodes with places
        return start, self.offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]  # nodes with places

    def segment(self, node: ast.AST, replacements: Iterable[tuple[ast.AST, str]] = ()) -> str:
        """The text of ``node``, with the text of some of its descendants replaced."""
        if self.is_expanded:
            texts = dict(replacements)
            own = texts.get(node, written(node))
            if own is not None:
                return own
            replacements = self._changes(node, texts)
        start, end = self.span(node)
        pieces, at = [], start
        for child, text in sorted(replacements, key=lambda item: self.span(item[0])[0]):
            child_start, child_end = self.span(child)
            pieces += [self.text[at:child_start], text]
            at = child_end
        text = "".join([*pieces, self.text[at:end]])
        return f"({text})" if "\n" in text and isinstance(node, ast.expr) and not _stands_alone(text) else text

    def _changes(self, node: ast.AST, texts: dict[ast.AST, str]) -> Iterator[tuple[ast.AST, str]]:
        """The descendants of ``node`` that are written otherwise than the source has them."""
        for child in children(node):
            own = texts.get(child, written(child))
            if isinstance(child, ast.keyword) and own is not None:
                own = f"{child.arg}={self.segment(child.value, texts.items())}{own}" if child.arg else own
            if own is not None:
                yield child, own
            else:
                yield from self._changes(child, texts)

    def is_changed(self, node: ast.AST) -> bool:
        """Is a node, or something below it, written otherwise than the source has it?"""
        return self.is_expanded and (written(node) is not None or any(True for _ in self._changes(node, {})))


def _shared_tree(text: str, filename: str) -> ast.Module:
    try:
        return tree_of(text)
    except SyntaxError as error:
        error.filename = filename
        raise


def _stands_alone(text: str) -> bool:
    """Can an expression of several lines do without the brackets that it stood in?"""
    try:
        ast.parse(text, mode="eval")
    except SyntaxError:
        return False
    return True
