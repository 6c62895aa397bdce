"""The LibCST statements of new text."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import libcst as cst

from ..syntax.comments import Statement
from ..syntax.node_index import of_kinds
from ..syntax.nodes import SIMPLE


@dataclass(frozen=True)
class Written(cst.BaseSmallStatement):
    """A simple statement as its text: LibCST needs nothing else, and takes eight times Python's time to read it."""

    lines: Sequence[str]
    node: ast.stmt

    def _visit_and_replace_children(self, visitor: cst.CSTVisitorT) -> Written:
        return self

    def _codegen_impl(self, state: Any, default_semicolon: bool = False) -> None:
        first, *rest = self.lines
        state.add_token(first)
        for line in rest:
            state.add_token(state.default_newline)
            state.add_indent_tokens()
            state.add_token(line)


def statements_of(text: str, config: cst.PartialParserConfig) -> list[Statement]:
    """The statements of a text. Simple ones without comments are read once for all places that get them."""
    written = _simple(text) if "#" not in text and "\\\n" not in text else ()
    if not written:
        return list(cst.parse_module(text, config).body)
    return [cst.SimpleStatementLine([Written(lines, node)]) for lines, node in written]


@lru_cache(maxsize=512)
def _simple(text: str) -> Sequence[tuple[Sequence[str], ast.stmt]]:
    """The lines and the tree of each statement of a text, if all are simple and have lines of their own; else none."""
    body, lines = ast.parse(text).body, text.rstrip("\n").split("\n")
    found: list[tuple[Sequence[str], ast.stmt]] = []
    ends = [node.lineno - 1 for node in body[1:]] + [len(lines)]
    for node, end in zip(body, ends, strict=False):  # a text without a statement has none
        is_apart = node.end_lineno == end  # neither an empty line behind it, nor another statement beside it
        if not isinstance(node, SIMPLE) or not is_apart or _has_long_text(node):
            return ()
        found.append((lines[node.lineno - 1 : node.end_lineno], node))
    return found if "" not in lines else ()


def _has_long_text(node: ast.stmt) -> bool:
    """Has a statement a string of several lines? Those keep their columns wherever it stands."""
    return any(text.lineno != text.end_lineno for text in of_kinds(node, ast.Constant, ast.JoinedStr))
