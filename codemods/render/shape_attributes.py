"""``ndim`` and ``shape_2d`` of tensors, said with their shapes (rule NKI034)."""

from __future__ import annotations

import ast

from ..analysis.scope import Scope
from ..expr import algebra
from ..expr.values import Hbm, Tile, Value
from ..syntax.codes import TENSOR_SHAPES
from .support import product_function

ATTRIBUTES = {"ndim", "shape_2d"}


def shape_attribute(scope: Scope, node: ast.Attribute) -> str | None:
    """``x.ndim`` or ``x.shape_2d`` of a tensor without block dimensions; ``None`` for any other attribute."""
    name = node.value.id if isinstance(node.value, ast.Name) else ""
    value = scope.env.get(name)
    if node.attr not in ATTRIBUTES or not isinstance(value, Hbm | Tile) or (isinstance(value, Tile) and value.blocks):
        return None
    scope.apply(TENSOR_SHAPES, node)
    if node.attr == "ndim":
        return f"len({name}.shape)"
    return f"({name}.shape[0], {_columns(scope, name, value)})"


def size_2d(scope: Scope, node: ast.Subscript) -> str | None:
    """``x.shape_2d[0]`` or ``x.shape_2d[1]``; ``None`` for any other subscript."""
    owner = node.value
    if not isinstance(owner, ast.Attribute) or owner.attr != "shape_2d" or shape_attribute(scope, owner) is None:
        return None
    name, position = ast.unparse(owner.value), algebra.constant(ast.unparse(node.slice), {})
    if position in (0, -2):
        return f"{name}.shape[0]"
    return _columns(scope, name, scope.env[name]) if position in (1, -1) else None


def _columns(scope: Scope, name: str, value: Value) -> str:
    """The elements in each partition of a tensor."""
    dims = getattr(value, "dims", None)
    if dims is None:
        return f"{product_function(scope)}({name}.shape[1:])"
    return algebra.paren(algebra.multiply("1", *(f"{name}.shape[{d}]" for d in range(1, len(dims)))))
