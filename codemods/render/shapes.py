"""Shapes as the source writes them: tuples, sums of tuples, shapes of tensors and parts of them, under names or not."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..analysis.scope import Scope
from ..expr import algebra
from ..expr.emission import Refuse
from ..expr.values import Hbm, Tile
from ..syntax import codes
from ..syntax.format import tuple_text
from ..syntax.node_index import of_kinds
from ..syntax.nodes import is_shape
from .expressions import render_stable
from .partition_marks import is_mark, marked, marked_shape
from .patterns import of_name, of_rank

if TYPE_CHECKING:
    from ..expr.operands import Operand

BLOCKS = codes.BLOCK_DIMENSIONS


@dataclass(frozen=True)
class Sizes:
    """The sizes of a shape; those in front of number ``partition``, which ``par_dim`` marks, are block dimensions."""

    all: tuple[str, ...]
    partition: int | None = None


def shape_of(scope: Scope, node: ast.expr) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Block dimensions, and partition and free dimensions, of a shape: everything before ``par_dim`` is a block."""
    if is_shape(node):
        return _inherited(scope, node)
    sizes = written_sizes(scope, node)
    if sizes is None:
        raise Refuse(node, BLOCKS, "a shape that is not written as a tuple", "write the tuple in the call")
    blocks = sizes.partition or 0
    return sizes.all[:blocks], sizes.all[blocks:]


def written_sizes(scope: Scope, node: ast.expr) -> Sizes | None:
    """The sizes of a shape, where the source tells each of them."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = written_sizes(scope, node.left), written_sizes(scope, node.right)
        if left is None or right is None:
            return None
        behind = left.partition if right.partition is None else len(left.all) + right.partition
        return Sizes((*left.all, *right.all), behind)
    if isinstance(node, ast.Tuple | ast.List):
        return Sizes(tuple(_size(scope, size) for size in node.elts), marked(scope, node.elts))
    known = _of_a_tensor(scope, node)
    if known is None and isinstance(node, ast.Name):
        text = scope.sizes.definitions.get(node.id) or scope.sizes.formulas.get(node.id)
        return _defined(scope, node.id, algebra.parse(text)) if text else None
    return None if known is None else Sizes(known)


def _defined(scope: Scope, name: str, node: ast.expr) -> Sizes | None:
    """The sizes of a shape that has a name, as it was bound last: what it is made of has not changed since."""
    if isinstance(node, ast.Tuple | ast.List):
        partition, is_known = marked_shape(scope, name)
        return Sizes(tuple(ast.unparse(size) for size in node.elts), partition) if is_known else None
    known = _of_a_tensor(scope, node)
    return None if known is None else Sizes(known)


def _of_a_tensor(scope: Scope, node: ast.expr) -> tuple[str, ...] | None:
    """``x.shape``, and ``x.shape[1:]``, of a tensor whose sizes are known and that has no block dimensions."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice) and node.slice.step is None:
        whole, first, last = _of_a_tensor(scope, node.value), _number(node.slice.lower), _number(node.slice.upper)
        plain = all(n is None or isinstance(n, ast.Constant) for n in (node.slice.lower, node.slice.upper))
        return whole[first:last] if whole is not None and plain else None
    if not (is_shape(node) and isinstance(node.value, ast.Name)):
        return None
    value = scope.names.env.get(node.value.id)
    blocks = isinstance(value, Tile) and value.blocks
    return value.dims if isinstance(value, Tile | Hbm) and not blocks else None


def _number(node: ast.expr | None) -> int | None:
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None


def _size(scope: Scope, node: ast.expr) -> str:
    """One size; ``x.shape[1]`` is what it stands for, where that is a number: two tensors can be seen to be alike."""
    if isinstance(node, ast.Call) and is_mark(scope, node) and len(node.args) == 1:
        return _size(scope, node.args[0])
    text = render_stable(scope, node)
    index = node.slice if isinstance(node, ast.Subscript) else None
    known = _of_a_tensor(scope, node.value) if isinstance(node, ast.Subscript) else None
    if known and isinstance(index, ast.Constant) and type(index.value) is int and 0 <= index.value < len(known):
        return known[index.value] if known[index.value].isdigit() else text
    return text


def _inherited(scope: Scope, node: ast.Attribute) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The shape of another tensor, which brings its block dimensions along."""
    value = scope.names.env.get(node.value.id) if isinstance(node.value, ast.Name) else None
    if isinstance(value, Tile | Hbm) and value.dims is None and isinstance(node.value, ast.Name) and not value.view:
        value = of_rank(scope, of_name(scope, node.value.id, value), 2).value
    if isinstance(value, Tile | Hbm) and value.dims is not None:
        return (value.blocks if isinstance(value, Tile) else ()), value.dims
    raise Refuse(node, BLOCKS, "the shape of a tensor whose rank is not known", "write the sizes")


def broadcast_sizes(scope: Scope, node: ast.expr, shape: ast.expr, base: Operand) -> tuple[str, ...]:
    """The sizes that a tile of as many dimensions is broadcast to."""
    sizes = written_sizes(scope, shape)
    if sizes is not None and isinstance(base.value, Tile):
        base = of_rank(scope, base, len(sizes.all))
    if sizes is None or base.dims is None or len(base.dims) != len(sizes.all):
        what = "broadcast_to of a shape that does not have the dimensions of the tile"
        raise Refuse(node, codes.NL_COMPUTE, what, "write it as .ap(...)")
    return sizes.all


def literal_axes(axis: ast.expr) -> tuple[int, ...] | None:
    """The axes that a literal names; ``None`` for anything else."""
    try:
        value = ast.literal_eval(axis)
    except ValueError:
        return None
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def reduced_axes(axis: ast.expr, dims: Sequence[str] | None) -> tuple[int, ...] | None:
    """The axes of a reduction of a tile, where they are known.

    A tile of two dimensions has one that Beta 1 reduces: it refused others (nki.language.sum: "axis ... free"). What
    the axis is computed of goes, unless a call computes it.
    """
    axes = literal_axes(axis)
    is_free = axes is None and dims is not None and len(dims) == 2
    return (1,) if is_free and not of_kinds(axis, ast.Call, ast.NamedExpr) else axes


def shape_owner(scope: Scope, node: ast.expr) -> str:
    """``x.shape`` where a shape is that of another tensor, under a name or not; else nothing."""
    if isinstance(node, ast.Name) and node.id in scope.sizes.definitions:
        node = algebra.parse(scope.sizes.definitions[node.id])
    of_a_tensor = is_shape(node) and isinstance(node.value, ast.Name)
    return ast.unparse(node) if of_a_tensor else ""


def _rank(scope: Scope, name: str) -> int | None:
    """How many dimensions the tensor ``name`` has, where that is known."""
    value = scope.names.env.get(name)
    dims = value.dims if isinstance(value, Tile | Hbm) else None
    return len(dims) if dims is not None else None


def shape_text(scope: Scope, dims: tuple[str, ...] | None, like: str) -> str:
    """A shape as source text: ``x.shape`` (``like``, where that is known) for the dimensions that all are ``x``'s."""
    if dims is None:
        return like
    if like and all(n == "1" or n == f"{like}[{d}]" for d, n in enumerate(dims)) and set(dims) != {"1"}:
        return like
    owner = dims[0].removesuffix(".shape[0]")
    whole = owner != dims[0] and dims == tuple(f"{owner}.shape[{d}]" for d in range(len(dims)))
    if whole and _rank(scope, owner) == len(dims):
        return f"{owner}.shape"
    return tuple_text(dims)
