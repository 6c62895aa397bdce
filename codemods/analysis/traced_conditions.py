"""Conditions on the variable of a loop that Beta 1 traced once: it traced both of their branches, whatever the pass.

``if t == 0: factor = 2.0`` leaves a ``factor`` behind it that the migration guide calls undefined; what the branches
compute with it themselves is not.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..project.reaching_definitions import Definitions, definitions_in, every_statement, names_read
from ..syntax.given_values import given_values
from ..syntax.node_index import of_kinds, walk
from ..syntax.nodes import bound_by
from .maybe_tensors import names_taken

if TYPE_CHECKING:
    from .scope import Scope

_ARITHMETIC = (
    *(ast.Name, ast.Constant, ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp),
    *(ast.operator, ast.unaryop, ast.cmpop, ast.boolop, ast.expr_context),
)


def undefined_behind(scope: Scope, statement: ast.If) -> list[str]:
    """Names that the branches of an ``if`` bind, and that are read behind it, where Beta 1 traced both branches."""
    variables = {loop.variable for loop in scope.place.loops if loop.traced_once}
    if not any(_depends(scope, name, variables, frozenset()) for name in names_taken(statement.test)):
        return []
    inside = frozenset(every_statement([statement]))
    flow = definitions_in(scope.function)
    return [name for name in sorted(bound_by(statement)) if _is_read_behind(flow, name, inside)]


def _depends(scope: Scope, name: str, variables: set[str], seen: frozenset[str]) -> bool:
    """Is a name one of these variables, or arithmetic of them?"""
    if name in variables or name in seen:
        return name in variables
    sums = (
        value for value in given_values(scope.function, name) if all(isinstance(n, _ARITHMETIC) for n in walk(value))
    )
    return any(_depends(scope, n.id, variables, seen | {name}) for value in sums for n in of_kinds(value, ast.Name))


def _is_read_behind(flow: Definitions, name: str, inside: frozenset[ast.stmt]) -> bool:
    """May a statement elsewhere read what one of the statements ``inside`` has bound to ``name``?"""
    readers = (s for s in flow.of_statement if s not in inside and name in {n.id for n in names_read(s)})
    return any(flow.bindings(reader, name)[1] & inside for reader in readers)
