"""NKI034 tensor-shapes: ``ndim``, ``shape_2d`` and ``expand_dims`` of tensors are said with their shapes.

Why: a tensor of Beta 2 has a ``shape`` and a ``reshape``, and none of the others. ``x.ndim`` becomes ``len(x.shape)``,
``x.shape_2d`` the partitions and the product of the free dimensions, ``x.expand_dims(axis)`` a
``reshape``. Where only a trace tells the rank or the axes, a function that the module gets computes the new shape.

Safe: the same numbers, and a view of the same bytes in both versions. Left alone: ``expand_dims`` of a part of a
tensor, and of tensors with block dimensions.

Source: "nki.tensor" of the 2.26.1 API reference; KLR/Trace/Term.lean of leanprover/KLR.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from .. import algebra, codes
from ..facts.values import Hbm, Tile, Value
from ..support import product_function

if TYPE_CHECKING:
    from ..scope import Scope

CODE = codes.TENSOR_SHAPES
GOLDENS = ("tensor_shapes",)
ATTRIBUTES = {"ndim", "shape_2d"}


def shape_attribute(scope: Scope, node: ast.Attribute) -> str | None:
    """``x.ndim`` or ``x.shape_2d`` of a tensor without block dimensions; ``None`` for any other attribute."""
    name = node.value.id if isinstance(node.value, ast.Name) else ""
    value = scope.env.get(name)
    if node.attr not in ATTRIBUTES or not isinstance(value, Hbm | Tile) or (isinstance(value, Tile) and value.blocks):
        return None
    scope.apply(CODE, node)
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
