"""What a loop carries: names that its body may read before it binds them."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from ..syntax.node_index import of_kinds, walk
from ..syntax.nodes import bound_by, names_read_by_nested
from .unit_loops import bound_in_body


def carried_names(loop: ast.For | ast.While | ast.With, function: ast.FunctionDef) -> list[str]:
    """Names that the body of a loop of ``function`` may read before it binds them, and that it binds.

    What a nested function reads, whoever calls it reads.
    """
    reading = _Reading(names_read_by_nested(function))
    reading.block(loop.body, set())
    bound = bound_in_body(loop)
    return [name for name in reading.exposed if name in bound]


class _Reading:
    """Collects the names that statements read before they are certainly bound, in the order of the source."""

    def __init__(self, nested: Mapping[str, set[str]]) -> None:
        self.nested = nested
        self.exposed: list[str] = []

    def block(self, body: list[ast.stmt], bound: set[str]) -> set[str]:
        """Read statements in turn; return the names that are certainly bound after them."""
        for statement in body:
            if isinstance(statement, ast.If):
                self.names(statement.test, bound)
                then = self.block(statement.body, set(bound))
                other = self.block(statement.orelse, set(bound))
                bound |= then & other
            elif isinstance(statement, ast.For | ast.While):
                self.names(statement.iter if isinstance(statement, ast.For) else statement.test, bound)
                inner = (
                    {n.id for n in of_kinds(statement.target, ast.Name)} if isinstance(statement, ast.For) else set()
                )
                self.block(statement.body, bound | inner)
            elif isinstance(statement, ast.FunctionDef):
                bound.add(statement.name)
            else:
                self.names(statement, bound)
                bound |= bound_by(statement)
        return bound

    def names(self, node: ast.AST, bound: set[str]) -> None:
        for child in walk(node):
            read = isinstance(child, ast.Name) and isinstance(child.ctx, ast.Load)
            if isinstance(child, ast.AugAssign) and isinstance(child.target, ast.Name):
                child, read = child.target, True
            if read and isinstance(child, ast.Name):
                found = [child.id, *sorted(self.nested.get(child.id, ()))]
                self.exposed += [name for name in found if name not in bound and name not in self.exposed]
