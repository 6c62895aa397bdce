"""What a name is at the head of a loop: what it is before the loop, joined with what an iteration leaves for the next.

The first reading of a loop takes it that its body leaves a tensor as it was. Where the body leaves something else, the
modules are read again, with what both have in common: until nothing is left that another reading would change.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace

from ..analysis.joins import merged
from ..analysis.name_views import described
from ..analysis.scope import Scope
from ..expr.frames import Loop
from ..expr.values import ERASED, Hbm, Python, Several, Tile, Value


def at_head(scope: Scope, loop: ast.For | ast.While | ast.With, name: str, value: Value) -> Value:
    """What ``name`` is at the head of a loop that carries it, before which it is ``value``."""
    left = scope.module.premises.carried.get((scope.module.position(loop), name))
    return _unplaced(name, value) if left is None else merged(name, _unplaced(name, value), left)


def close(scope: Scope, loop: Loop, heads: Mapping[str, Value]) -> None:
    """Join the ends of the body of a loop, and ask for another reading where they leave what is not in ``heads``."""
    for left in loop.left:
        names = sorted({*left, *scope.names.env})
        scope.names.env = {name: merged(name, left.get(name), scope.names.env.get(name)) for name in names}
    for name, head in heads.items():
        end = scope.names.env.get(name)
        both = merged(name, head, end)
        if _facts(both) != _facts(head) and not _is_settled(head, end):
            scope.module.plan.carried[scope.module.position(loop.statement), name] = _unplaced(name, both)


def _unplaced(name: str, value: Value) -> Value:
    """What is known of a name without the place of what it stands for, which another iteration need not find there.

    Sizes and types that the loop binds again are not among what describes it: see :func:`.kill.kill`.
    """
    seen = described(name, value) if isinstance(value, Hbm | Tile) else value
    if isinstance(seen, Tile) and isinstance(value, Tile) and not value.blocks:
        return replace(seen, dims=value.dims, dtype=value.dtype)
    return seen


def _is_settled(head: Value, end: Value | None) -> bool:
    """Is nothing known of the head, or is it a number, which what cannot be told leaves a number?"""
    return type(head) is Value or isinstance(head, ERASED) or (isinstance(head, Python) and type(end) is Value)


def _facts(value: Value) -> object:
    """What decides how a value is used."""
    if isinstance(value, Tile):
        shape = value.dims, value.ranks, len(value.blocks), value.style, value.listed
        return value.space, shape, value.dtype, value.view, value.perhaps_column, value.optional
    if isinstance(value, Hbm):
        return value.dims, value.dtype, value.view
    if isinstance(value, Several):
        return tuple(map(_facts, value.parts))
    return type(value)
