"""``x.reshape(shape)`` of a tensor, and what a tile must keep of its shape."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from .emission import Refuse
from .facts.values import Tile
from .operands import Operand
from .patterns import of_name
from .render import render
from .shapes import written_sizes

if TYPE_CHECKING:
    from .scope import Scope

VECTORS = "NKI024"
BLOCKS = "NKI010"


def reshaped(scope: Scope, node: ast.Call, base: Operand) -> Operand:
    """``x.reshape(shape)`` of a whole tensor: the same bytes in both versions."""
    given = [*node.args, *(keyword.value for keyword in node.keywords)]
    shape: ast.expr = given[0] if len(given) == 1 else ast.Tuple(given, ast.Load())
    if base.items is not None or base.pattern is not None or base.is_view:
        raise Refuse(node, VECTORS, ".reshape(...) of a part of a tensor", "reshape the tensor, then index it")
    value = base.value
    if isinstance(value, Tile) and value.blocks:
        raise Refuse(node, BLOCKS, ".reshape(...) of a tensor with block dimensions", "reshape each block")
    if isinstance(shape, ast.Tuple | ast.List):
        dims: tuple[str, ...] | None = tuple(render(scope, size) for size in shape.elts)
        text = f"({', '.join(dims or ())}{',' if len(shape.elts) == 1 else ''})"
    else:
        sizes = written_sizes(scope, shape)
        text, dims = render(scope, shape), sizes.all if sizes is not None else None
    if any(size.startswith("-") for size in dims or ()):
        raise Refuse(node, VECTORS, ".reshape(...) with a size of -1", "write every size")
    if isinstance(value, Tile):
        _keep_partitions(scope, node, base, dims)
    scope.apply("NKI021", node)
    whole = replace(value, dims=dims, origin=None)
    name = f"{base.base}.reshape({text})"
    return of_name(scope, name, whole)


def _keep_partitions(scope: Scope, node: ast.Call, base: Operand, dims: tuple[str, ...] | None) -> None:
    """Refuse a reshape of a tile that moves its partitions; where the source does not tell, the kernel asserts it."""
    if not dims or not base.dims:
        raise Refuse(node, VECTORS, ".reshape(...) of a tile whose shape is not known", "write the shape as a tuple")
    if scope.equal(dims[0], base.dims[0]):
        return
    if scope.constant(dims[0]) is not None and scope.constant(base.dims[0]) is not None:
        raise Refuse(node, VECTORS, ".reshape(...) of a tile that moves its partitions", "keep the partition size")
    scope.assert_equal(base.dims[0], dims[0], "a reshape that keeps the partitions")
