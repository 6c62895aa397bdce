"""``x.reshape(shape)`` of a tensor, and what a tile must keep of its shape."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from ..analysis.maybe_tensors import is_number
from ..expr.emission import Refuse
from ..expr.operands import Operand
from ..expr.values import Tile
from ..render.expressions import render
from ..render.patterns import of_name
from ..render.shapes import literal_axes, shape_text, written_sizes
from ..render.support import expanded_shape_function
from ..syntax import codes
from ..syntax.codes import TENSOR_SHAPES
from ..syntax.format import tuple_text

if TYPE_CHECKING:
    from ..analysis.scope import Scope

VECTORS = codes.INDEX_VECTORS
BLOCKS = codes.BLOCK_DIMENSIONS


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
        text = tuple_text(dims or ())
    else:
        sizes = written_sizes(scope, shape)
        text, dims = render(scope, shape), sizes.all if sizes is not None else None
    if any(size.startswith("-") for size in dims or ()):
        raise Refuse(node, VECTORS, ".reshape(...) with a size of -1", "write every size")
    if isinstance(value, Tile):
        if _has_shape(scope, base, dims):
            return base
        _keep_partitions(scope, node, base, dims)
    scope.apply(codes.ISA_DESTINATION, node)
    whole = replace(value, dims=dims, origin=None)
    name = f"{base.base}.reshape({text})"
    return of_name(scope, name, whole)


def _has_shape(scope: Scope, base: Operand, dims: tuple[str, ...] | None) -> bool:
    """Does a tile have these dimensions already? A vector that was loaded is a column in Beta 2."""
    own = base.dims
    return own is not None and dims is not None and len(own) == len(dims) and all(map(scope.equal, own, dims))


def expanded(scope: Scope, node: ast.Call, base: Operand, axis: ast.expr) -> Operand:
    """``x.expand_dims(axis)`` of a whole tensor: a reshape."""
    value = base.value
    if base.items is not None or base.pattern is not None or base.is_view or (isinstance(value, Tile) and value.blocks):
        what = "expand_dims of a part of a tensor, or of one with block dimensions"
        raise Refuse(node, TENSOR_SHAPES, what, "reshape the tensor, then index it")
    if not is_number(scope, axis):
        raise Refuse(node, TENSOR_SHAPES, "expand_dims at an axis that is not known to be a number", "write the shape")
    dims = _with_ones(base.dims, literal_axes(axis))
    if dims is None and not base.like:
        raise Refuse(node, TENSOR_SHAPES, "expand_dims of a tensor whose shape is not known", "write the shape")
    scope.apply(TENSOR_SHAPES, node)
    whole = replace(value, dims=dims, origin=None)
    if isinstance(whole, Tile):
        whole = replace(whole, perhaps_column=dims is None)
    text = shape_text(scope, dims, "") if dims is not None else ""
    if dims is None:
        old = shape_text(scope, base.dims, base.like)
        text = f"{expanded_shape_function(scope)}({old}, {render(scope, axis)})"
    return of_name(scope, f"{base.base}.reshape({text})", whole)


def _with_ones(dims: tuple[str, ...] | None, axes: tuple[int, ...] | None) -> tuple[str, ...] | None:
    """``dims`` with sizes of 1 at ``axes`` of the result, none of them the first; ``None`` where that is not known."""
    if dims is None or axes is None:
        return None
    rank = len(dims) + len(axes)
    places = {axis % rank for axis in axes if -rank <= axis < rank}
    if len(places) != len(axes) or 0 in places:
        return None
    sizes = iter(dims)
    return tuple("1" if d in places else next(sizes) for d in range(rank))


def _keep_partitions(scope: Scope, node: ast.Call, base: Operand, dims: tuple[str, ...] | None) -> None:
    """Refuse a reshape of a tile that moves its partitions; where the source does not tell, the kernel asserts it."""
    if not dims or not (base.dims or base.like):
        raise Refuse(node, VECTORS, ".reshape(...) of a tile whose shape is not known", "write the shape as a tuple")
    partitions = base.dims[0] if base.dims else f"{base.like}[0]"
    if scope.equal(dims[0], partitions):
        return
    if scope.constant(dims[0]) is not None and scope.constant(partitions) is not None:
        raise Refuse(node, VECTORS, ".reshape(...) of a tile that moves its partitions", "keep the partition size")
    scope.assert_equal(partitions, dims[0], "a reshape that keeps the partitions")
