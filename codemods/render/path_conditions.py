"""What names are where a condition holds that cannot change: a later branch on the same condition knows it again."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..expr import algebra
from ..expr.values import Hbm, Tile, Value, texts
from ..syntax.node_index import of_kinds, walk

if TYPE_CHECKING:
    from ..analysis.scope import Scope


def remember(scope: Scope, test: ast.expr, then: dict[str, Value]) -> None:
    """Keep what names are where a condition holds that cannot change, if they are something else where it does not."""
    names = {n.id for n in of_kinds(test, ast.Name)}
    plain = ast.Name | ast.Compare | ast.Constant | ast.expr_context | ast.cmpop
    if all(isinstance(n, plain) for n in walk(test)) and scope.names.are_fixed(names):
        known = scope.names.under.setdefault(ast.unparse(test), {})
        for name, value in then.items():
            now = scope.names.env[name]
            others = {n for text in texts(value) if text for n in algebra.names(text)} - {name}
            if type(now) is Value and isinstance(value, Hbm | Tile) and scope.names.are_fixed(others):
                known[name] = (now, value)


def recall(scope: Scope, test: ast.expr | None) -> None:
    """In a branch whose condition held before, names that nothing bound since are what they were there."""
    for name, (then, value) in scope.names.under.get(ast.unparse(test) if test is not None else "", {}).items():
        if scope.names.env.get(name) is then:
            scope.names.env[name] = value
