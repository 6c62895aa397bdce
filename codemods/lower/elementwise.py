"""Elementwise operations on two operands: ``tensor_tensor`` for tiles of one shape, ``tensor_scalar`` for the others.

A tile of one partition is copied to all partitions first. Source: nki.language of the API references 2.26.1 and 2.28.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..analysis.instructions import Instruction
from ..expr.emission import Refuse
from ..expr.operands import Operand
from ..render.one_shape import REVERSIBLE, assert_one_shape, combined_as_traced
from ..render.patterns import common_dims, spread
from ..render.support import broadcast_rows_function
from ..syntax.codes import NL_COMPUTE as CODE
from .compute import in_sbuf, whole

if TYPE_CHECKING:
    from ..analysis.scope import Scope


def is_of_one_row(scope: Scope, src: Operand, sizes: tuple[str, ...]) -> bool:
    """Is a tile of one partition put on all partitions of ``sizes``?"""
    if src.dims is None or len(src.dims) != len(sizes) or len(sizes) < 2:
        return False
    return scope.constant(src.dims[0]) == 1 != scope.constant(sizes[0])


def row_broadcast(scope: Scope, node: ast.expr, src: Operand, sizes: tuple[str, ...]) -> Instruction:
    """A tile of one partition on all partitions of ``sizes``."""
    src = spread(scope, node, src, ("1", *sizes[1:]))
    scope.apply(CODE, node)
    given: list[tuple[str, Operand | str]] = [("src", in_sbuf(scope, node, src))]
    return Instruction(broadcast_rows_function(scope), given, sizes, src.dtype, cut=False, support=True)


def combined(scope: Scope, node: ast.expr, token: str, a: Operand, b: Operand, dtype: str | None) -> Instruction:
    """``a token b`` of two tiles, into ``dtype``."""
    a, b = _on_all_rows(scope, node, a, b), _on_all_rows(scope, node, b, a)
    if a.perhaps_psum and b.perhaps_psum:
        b = in_sbuf(scope, node, b)
    column_a, column_b = is_column(scope, a), is_column(scope, b)
    if column_a == column_b:
        traced = combined_as_traced(scope, token, a, b, dtype)
        if traced is not None:
            return traced
        dims = common_dims(scope, (a, b))
        if dims is not None:
            a, b = spread(scope, node, a, dims), spread(scope, node, b, dims)
        tiles: list[tuple[str, Operand | str]] = [("data1", a), ("data2", b), ("op", f"{scope.nl}.{token}")]
        same_sizes(scope, node, a, b)
        return Instruction("tensor_tensor", tiles, a.dims, dtype, like=a.like)
    data, other, reverse = (a, b, False) if column_b else (b, a, True)
    return with_scalar(scope, node, token, data, other, reverse, dtype)


def with_scalar(
    scope: Scope, node: ast.expr, token: str, data: Operand, other: Operand | str, reverse: bool, dtype: str | None
) -> Instruction:
    if data.space == "hbm":
        raise Refuse(node, CODE, "a computation on a tensor in HBM", "load it first")
    given: list[tuple[str, Operand | str]] = [("data", data), ("op0", f"{scope.nl}.{token}"), ("operand0", other)]
    if reverse and token not in REVERSIBLE:
        given.append(("reverse0", "True"))
    return Instruction("tensor_scalar", given, data.dims, dtype, like=data.like)


def is_column(scope: Scope, view: Operand) -> bool:
    return view.dims is not None and all(scope.constant(size) == 1 for size in view.dims[1:])


def _on_all_rows(scope: Scope, node: ast.expr, view: Operand, other: Operand) -> Operand:
    """``view`` on the partitions of ``other``, where it has only one."""
    if view.dims is None or other.dims is None or view.space == "hbm":
        return view
    sizes = (other.dims[0], *view.dims[1:])
    if not is_of_one_row(scope, view, sizes):
        return view
    return whole(scope, node, row_broadcast(scope, node, view, sizes))


def _same_partitions(scope: Scope, node: ast.expr, a: Operand, b: Operand) -> None:
    if a.dims is None or b.dims is None:
        return
    for one, other in ((a, b), (b, a)):
        if scope.constant(one.rows) == 1 and scope.constant(other.rows) != 1:
            raise Refuse(node, CODE, "an operand that broadcasts over partitions", "broadcast it with a copy first")


def same_sizes(scope: Scope, node: ast.expr, a: Operand, b: Operand) -> None:
    """Beta 1 broadcasts dimensions of size 1, Beta 2 does not."""
    if a.dims is None or b.dims is None:
        assert_one_shape(scope, node, a, b)
        return
    _same_partitions(scope, node, a, b)
    pairs = list(zip(a.dims, b.dims, strict=False))
    sizes = [(scope.constant(x), scope.constant(y)) for x, y in pairs]
    if len(a.dims) != len(b.dims) or any(x != y and (1 in (x, y) or None not in (x, y)) for x, y in sizes):
        raise Refuse(node, CODE, "operands of different shapes", "broadcast the smaller one with .ap(...)")
    assert_one_shape(scope, node, a, b)
