"""What a statement that was left alone binds: a tile of Beta 1 is to be the same tile when it is rewritten by hand."""

from __future__ import annotations

import ast
import copy
from dataclasses import replace

from ..analysis.scope import Scope
from ..expr import algebra
from ..expr.emission import Refuse
from ..expr.tables import parameters
from ..expr.values import Python, Tile, Value
from ..syntax import codes
from .computations import is_computation
from .compute import lower

_BESIDE = frozenset({"initial", "scale", "bias", "operand0", "operand1", "bound0", "bound1", "on_false_value"})
"""Arguments that are numbers, or one for each partition."""
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
    told = _as_if_told(scope, value, refusal)
    if told is not None:
        readable = told.dtype is not None and algebra.names(told.dtype) <= scope.module.symbols.names | {scope.nl}
        dims = None if told.dims is None else _readable(scope, target, told.dims)
        return Tile(told.space, dims, told.dtype if readable else f"{target}.dtype")
    psum = isinstance(value, ast.Call) and scope.qualified(value.func) in _IN_PSUM
    return Tile("psum" if psum else "sbuf", None, f"{target}.dtype")


def _as_if_told(scope: Scope, value: ast.expr, refusal: Refuse) -> Tile | None:
    """The tile of a computation, if all that was refused is an argument that has no part in its shape."""
    refused = {k.arg for k in value.keywords if k.value is refusal.node} if isinstance(value, ast.Call) else set()
    if not isinstance(value, ast.Call) or not refused & _BESIDE:
        return None
    told = copy.copy(value)
    told.keywords = [k if k.arg not in refused else _numbered(k) for k in value.keywords]
    found = scope.attempt(_only_asked, scope, told)
    return found.result if found.node is told and isinstance(found.result, Tile) else None


def _numbered(keyword: ast.keyword) -> ast.keyword:
    """A number as the value of a keyword."""
    number = ast.copy_location(ast.Constant(0.0), keyword.value)
    return ast.copy_location(ast.keyword(keyword.arg, number), keyword)


def _only_asked(scope: Scope, call: ast.Call) -> Refuse:
    """Raise :class:`Refuse` with the tile of a call as its result: all that was done to find it is taken back."""
    made = lower(scope, call)
    tile = Tile(made.space, made.dims, made.dtype)
    raise Refuse(call, codes.ISA_DESTINATION, "a call that is only asked for its tile", "", result=tile)


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
    given = scope.module.symbols.names - {target}
    return tuple(n if algebra.names(n) <= given else f"{target}.shape[{d}]" for d, n in enumerate(dims))
