"""Tensors as they are seen through a name of their own: sizes, type and blocks spelled with it."""

from __future__ import annotations

import ast
from dataclasses import replace

from ..expr import algebra
from ..expr.values import DType, Gone, Hbm, Object, Several, Tile, Value
from .scope import Scope


def described(name: str, value: Hbm | Tile) -> Value:
    """A tensor described through its own name, for as long as that is possible."""
    if isinstance(value, Tile) and value.blocks and value.style != "list":
        return Gone("has block dimensions, and a name that it was made with is bound again since")
    seen = parameter_value(name, value)
    return replace(seen, declaration=value.declaration) if isinstance(value, Tile) and isinstance(seen, Tile) else seen


def described_anew(scope: Scope, name: str, value: Hbm | Tile, bound: str) -> Value:
    """A tensor after ``bound``, which it was described with, is bound again.

    One whose blocks lie in one tensor cannot be described through its name, but for its type: it becomes a list.
    """
    if not isinstance(value, Tile) or not value.blocks or value.style == "list":
        return described(name, value)
    sizes = [*(value.dims or ()), *value.blocks, *value.folded]
    if value.style == "fold" and name != bound and bound not in {n for text in sizes for n in algebra.names(text)}:
        return replace(value, dtype=f"{name}.dtype")
    if value.declaration is not None and name != bound and scope.module.options.blocks == "auto":
        declared = value.declaration.node
        assert isinstance(declared, ast.expr)
        scope.module.plan.blocked[scope.module.position(declared)] = f"'{bound}', which tells its sizes, is bound again"
    return described(name, value)


def parameter_value(name: str, value: Value) -> Value:
    """An argument as the function that receives it sees it: described through the parameter's own name."""
    if isinstance(value, Tile):
        first = name + "[0]" * len(value.blocks)
        blocks = tuple("len(" + name + "[0]" * d + ")" for d in range(len(value.blocks)))
        dims = own_dims(first, value.dims)
        column, ranks = value.perhaps_column, value.ranks
        return Tile(
            value.space,
            dims,
            f"{first}.dtype",
            blocks,
            None,
            value.view,
            perhaps_column=column,
            ranks=ranks,
            untold=value.untold,
            listed=value.listed,
        )
    if isinstance(value, Hbm):
        return Hbm(own_dims(name, value.dims), f"{name}.dtype", value.view, untold=value.untold)
    if isinstance(value, DType):
        return DType(name, value.optional)
    if isinstance(value, Object):
        return Object(tensors=tuple((f, parameter_value(f"{name}.{f}", t)) for f, t in value.tensors))
    if isinstance(value, Several):
        return Several(tuple(_part(f"{name}[{number}]", part) for number, part in enumerate(value.parts)))
    return value


def _part(name: str, value: Value) -> Value:
    """A part of a tuple. What is written to PSUM, and blocks, are followed by names: such a tile is not known."""
    followed = isinstance(value, Tile) and (value.space != "sbuf" or value.blocks)
    return Value() if followed else parameter_value(name, value)


def own_dims(name: str, dims: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Sizes as ``name.shape[d]``; a 1 stays a 1, because it decides how an operand broadcasts."""
    return None if dims is None else tuple("1" if n == "1" else f"{name}.shape[{d}]" for d, n in enumerate(dims))
