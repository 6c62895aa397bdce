"""``if x is None``: what the branches know of a tensor that can be left out."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from ..expr.values import Absent, Tile, Value
from ..syntax.nodes import bound_by

if TYPE_CHECKING:
    from ..analysis.scope import Scope

Known = dict[str, Value]


def known_absences(scope: Scope, statement: ast.If) -> tuple[Known | None, Known | None]:
    """What a test for ``None`` tells the two branches; ``None`` for a branch that never runs."""
    tested = _tested(statement.test)
    if tested is None:
        return {}, {}
    name, absent_in_body = tested
    value = scope.names.env.get(name)
    rebound = any(name in bound_by(loop.statement) for loop in scope.place.loops)
    if isinstance(value, Absent) and not rebound:
        sides: tuple[Known | None, Known | None] = {}, None
    elif isinstance(value, Tile) and (value.optional or rebound):
        sides = {name: Absent()}, {name: replace(value, optional=False)}
    elif isinstance(value, Tile):
        sides = None, {}
    else:
        return {}, {}
    return sides if absent_in_body else (sides[1], sides[0])


def _tested(test: ast.expr) -> tuple[str, bool] | None:
    """The name that ``x is None`` or ``x is not None`` tests, and whether it is ``None`` where that holds."""
    if not (isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.left, ast.Name)):
        return None
    right = test.comparators[0]
    if not isinstance(right, ast.Constant) or right.value is not None:
        return None
    if isinstance(test.ops[0], ast.Is | ast.IsNot):
        return test.left.id, isinstance(test.ops[0], ast.Is)
    return None
