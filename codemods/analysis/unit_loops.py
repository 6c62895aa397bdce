"""Loops that count in steps of 1, by Python's ``range`` or NKI's loops."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..syntax.node_index import of_kinds
from ..syntax.nodes import bound_by
from .own_functions import own_function

if TYPE_CHECKING:
    from .scope import Scope

TRACED = {"nl.affine_range", "nl.sequential_range"}
"""Loops whose body Beta 1 traced only once."""
RANGES = TRACED | {"nl.static_range"}


def counted(scope: Scope, loop: ast.stmt) -> tuple[ast.expr, ast.expr] | None:
    """The first value of a loop's variable, and the one that it ends before; ``None`` for other loops.

    They hold at every place in the body, which binds neither the variable nor a name in them. Keywords of Beta 1's
    loops are hints.
    """
    call = loop.iter if isinstance(loop, ast.For) else None
    if not isinstance(loop, ast.For) or not isinstance(call, ast.Call):
        return None
    counts = {node.id for part in (loop.target, *call.args) for node in of_kinds(part, ast.Name)}
    if bound_in_body(loop) & counts or any(isinstance(a, ast.Starred) for a in call.args):
        return None
    if scope.qualified(call.func) not in RANGES and own_function(scope, call.func) != "range":
        return None
    match call.args:
        case [end]:
            return ast.Constant(0), end
        case [first, end]:
            return first, end
    return None


def bound_in_body(loop: ast.For | ast.While | ast.With) -> frozenset[str]:
    """The names that the body of a loop binds."""
    return frozenset(name for statement in loop.body for name in bound_by(statement))


def passes_from_zero(scope: Scope, loop: ast.stmt) -> ast.expr | None:
    """How often a loop runs that counts 0, 1, 2 and so on; ``None`` for other loops."""
    values = counted(scope, loop)
    return values[1] if values is not None and scope.constant(ast.unparse(values[0])) == 0 else None
