"""``ndim`` and ``shape_2d`` of tensors, said with their shapes (rule NKI034); shapes of index vectors, which go."""

from __future__ import annotations

import ast

from ..analysis.scope import Scope
from ..expr import algebra
from ..expr.values import Hbm, Index, Tile, Value
from ..syntax.codes import INDEX_VECTORS, TENSOR_SHAPES
from ..syntax.format import tuple_text
from .index import index_value
from .support import product_function

ATTRIBUTES = {"ndim", "shape_2d"}


def shape_attribute(scope: Scope, node: ast.Attribute) -> str | None:
    """``x.ndim`` or ``x.shape_2d`` of a tensor without block dimensions; ``None`` for any other attribute."""
    name = node.value.id if isinstance(node.value, ast.Name) else ""
    value = scope.names.env.get(name)
    sizes = _sizes_of_vector(scope, node)
    if sizes is not None:
        scope.apply(INDEX_VECTORS, node)
        return str(len(sizes)) if node.attr == "ndim" else tuple_text(sizes)
    if node.attr not in ATTRIBUTES or not isinstance(value, Hbm | Tile) or (isinstance(value, Tile) and value.blocks):
        return None
    scope.apply(TENSOR_SHAPES, node)
    if node.attr == "ndim":
        return f"len({name}.shape)"
    return f"({name}.shape[0], {_columns(scope, name, value)})"


def _sizes_of_vector(scope: Scope, node: ast.Attribute) -> tuple[str, ...] | None:
    """The shape that ``.shape`` or ``.ndim`` of an index vector asks for; ``None`` for any other attribute."""
    vector = index_value(scope, node.value) if node.attr in ("shape", "ndim") else None
    if not isinstance(vector, Index) or vector.loose is not None:
        return None
    sizes = {term.position: term.axis.size for term in (*vector.terms, *vector.mates)}
    return tuple(sizes.get(position, "1") for position in range(vector.ndim))


def size_of_vector(scope: Scope, node: ast.Subscript) -> str | None:
    """``i.shape[0]`` of an index vector; ``None`` for any other subscript."""
    owner = node.value
    sizes = _sizes_of_vector(scope, owner) if isinstance(owner, ast.Attribute) and owner.attr == "shape" else None
    position = algebra.constant(ast.unparse(node.slice), {}) if sizes is not None else None
    if sizes is None or position is None or not -len(sizes) <= position < len(sizes):
        return None
    scope.apply(INDEX_VECTORS, node)
    return algebra.paren(sizes[position])


def size_2d(scope: Scope, node: ast.Subscript) -> str | None:
    """``x.shape_2d[0]`` or ``x.shape_2d[1]``; ``None`` for any other subscript."""
    owner = node.value
    if not isinstance(owner, ast.Attribute) or owner.attr != "shape_2d" or shape_attribute(scope, owner) is None:
        return None
    name, position = ast.unparse(owner.value), algebra.constant(ast.unparse(node.slice), {})
    if position in (0, -2):
        return f"{name}.shape[0]"
    return _columns(scope, name, scope.names.env[name]) if position in (1, -1) else None


def _columns(scope: Scope, name: str, value: Value) -> str:
    """The elements in each partition of a tensor."""
    dims = getattr(value, "dims", None)
    if dims is None:
        return f"{product_function(scope)}({name}.shape[1:])"
    return algebra.paren(algebra.multiply("1", *(f"{name}.shape[{d}]" for d in range(1, len(dims)))))
