"""Small questions about ``ast`` nodes."""

from __future__ import annotations

import ast


def bound_by(statement: ast.stmt) -> set[str]:
    """Names that a statement (or a part of it) binds."""
    if isinstance(statement, ast.FunctionDef):
        return {statement.name}
    return {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def default_values(function: ast.FunctionDef) -> dict[ast.arg, ast.expr]:
    """The default of each parameter that has one."""
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    values = dict(zip(reversed(positional), reversed(arguments.defaults), strict=False))
    values.update({a: d for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d is not None})
    return values
