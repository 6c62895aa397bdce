"""What a statement that was left alone binds: a tile of Beta 1 is to be the same tile when it is rewritten by hand."""

from __future__ import annotations

import ast
from dataclasses import replace

from ..analysis.scope import Scope
from ..expr import algebra
from ..expr.emission import Refuse
from ..expr.tables import parameters
from ..expr.values import Python, Tile, Value
from .computations import is_computation

_IN_PSUM = {"nisa.nc_matmul", "nisa.nc_transpose", "nl.matmul"}


def left_tile(scope: Scope, statement: ast.stmt, refusal: Refuse) -> Value:
    """The tile that ``name = <computation>`` gives, so that what reads it can be rewritten; else an unknown value."""
    target, value = _assignment(statement)
    if target is None or value is None:
        return Value()
    if isinstance(refusal.result, Python) and isinstance(value, ast.Call) and refusal.node is value.func:
        return refusal.result
    computed = scope.attempt(is_computation, scope, value)
    if isinstance(computed, Refuse) or not (computed or _gives_tile(scope, value)):
        return Value()
    known = refusal.result
    if isinstance(known, Tile) and refusal.node is value:
        dims = None if known.dims is None else _readable(scope, target, known.dims)
        return replace(known, dims=dims, dtype=f"{target}.dtype")
    psum = isinstance(value, ast.Call) and scope.qualified(value.func) in _IN_PSUM
    return Tile("psum" if psum else "sbuf", None, f"{target}.dtype")


def _gives_tile(scope: Scope, value: ast.expr) -> bool:
    """Is an expression a call of a Beta 1 function without a rewrite that computes a tile: ``nl.dropout(...)``?"""
    name = (scope.qualified(value.func) if isinstance(value, ast.Call) else None) or ""
    return {"dtype", "mask"} <= set(parameters(name))


def _assignment(statement: ast.stmt) -> tuple[str | None, ast.expr | None]:
    """The name and the value of a plain assignment."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target: ast.expr = statement.targets[0]
    elif isinstance(statement, ast.AnnAssign):
        target = statement.target
    else:
        return None, None
    return (target.id, statement.value) if isinstance(target, ast.Name) else (None, None)


def _readable(scope: Scope, target: str, dims: tuple[str, ...]) -> tuple[str, ...]:
    """Sizes in the names of the source, and through the tile itself where they have others."""
    given = scope.module.names - {target}
    return tuple(n if algebra.names(n) <= given else f"{target}.shape[{d}]" for d, n in enumerate(dims))
