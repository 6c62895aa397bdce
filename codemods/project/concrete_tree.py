"""The LibCST tree of one module, with the node of each function of its ``ast`` tree."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

import libcst as cst

from ..syntax.node_index import children
from ..syntax.source import Source

_Function = ast.FunctionDef | ast.AsyncFunctionDef


class ConcreteTree:
    """The LibCST tree of a module's text, parsed once, when somebody asks for it."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._module: cst.Module | None = None
        self._functions: dict[_Function, cst.FunctionDef] = {}

    def module(self) -> cst.Module:
        """The tree as a whole."""
        if self._module is None:
            self._module = cst.parse_module(self._source.text)
        return self._module

    def function(
        self, function: ast.FunctionDef, copies: Mapping[ast.FunctionDef, list[ast.FunctionDef]]
    ) -> cst.FunctionDef:
        """The node of a function, or of that which it is one of the ``copies`` of."""
        if not self._functions:
            self._functions = dict(
                zip(_functions_of(self._source.tree), _concrete_functions(self.module()), strict=True)
            )
            for original, copied in ((original, copied) for original, found in copies.items() for copied in found):
                same = zip([copied, *_functions_of(copied)], [original, *_functions_of(original)], strict=True)
                self._functions |= {new: self._functions[old] for new, old in same}
        return self._functions[function]

    def forget(self) -> None:
        """Drop the tree, once the text is written: it is the largest thing that a module has."""
        self._module = None
        self._functions.clear()


def _functions_of(node: ast.AST) -> list[_Function]:
    """Functions in the order of the source."""
    found: list[_Function] = []
    for child in children(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            found.append(child)
        found += _functions_of(child)
    return found


def _concrete_functions(node: cst.CSTNode) -> list[cst.FunctionDef]:
    found: list[cst.FunctionDef] = []
    for child in _statements_in(node):
        if isinstance(child, cst.FunctionDef):
            found.append(child)
        found += _concrete_functions(child)
    return found


def _statements_in(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The statements that stand in a compound statement, and the clauses that hold more (``else``, handlers, cases)."""
    for name in ("body", "handlers", "cases", "orelse", "finalbody"):
        part = getattr(node, name, None)
        if isinstance(part, cst.BaseSuite):
            part = part.body
        if isinstance(part, cst.CSTNode):
            yield part
        elif part:
            yield from (child for child in part if not isinstance(child, cst.SimpleStatementLine))
