"""Tensors that may have other ranks than a rewrite takes them to have: the kernel asserts theirs where that shows.

``nl.load(x[0:128, 0:n])`` of a tensor (128, n, 1) is a tile of three dimensions in Beta 1; the rewrite, which knows
nothing of ``x`` but this subscript, declares one of two. What it leaves out are sizes of 1, or the copy ends the
kernel: the numbers are the same, but ``tile.shape`` is not, nor what is reduced along the last dimension.
``nl.load(x)`` of one dimension is a column in Beta 1.

Source: NKI 2.26.1, "nki.language.load"; ``reference/beta1.md`` 3.1 (tiles have two dimensions at least).
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..analysis.instructions import has_again
from ..analysis.load_ranks import all_uses
from ..expr.operands import Operand
from ..expr.tables import activation_token, operator_token, parameters
from ..expr.values import Hbm
from ..project.least_ranks import rank_at_least
from ..project.own_assertions import same_shape
from ..syntax.node_index import walk
from .flat_masks import ELEMENTWISE
from .patterns import assert_dimensions
from .shapes import literal_axes

if TYPE_CHECKING:
    from ..analysis.instructions import Instruction
    from ..analysis.scope import Scope

_ALIKE = {
    *("nl.load", "nl.store", "nl.copy", "nl.static_cast", "nl.zeros_like", "nl.matmul", "nl.transpose", "nl.where"),
    *("nl.negative", "nl.reciprocal", "nl.divide", "nl.floor", "nl.mod"),
    *("nisa.dma_copy", "nisa.nc_matmul", "nisa.nc_transpose", *(f"nisa.{name}" for name in ELEMENTWISE)),
}
"""What gives the same numbers for tiles that differ in dimensions of size 1 behind all others."""
_REDUCTIONS = {"nl.sum", "nl.max", "nl.min", "nl.prod", "nl.mean", "nisa.tensor_reduce"}


def assert_ranks(scope: Scope, node: ast.AST, instruction: Instruction, *, fresh: bool) -> None:
    """The kernel asserts the ranks of the operands of an instruction where others would go unnoticed.

    ``fresh`` is true where it makes the tile that ``node`` is.
    """
    plain = instruction.function in ("dma_copy", "nc_matmul", "nc_transpose", *ELEMENTWISE)
    for _, value in instruction.arguments:
        if not isinstance(value, Operand) or value.value.dims is not None:
            continue
        if not plain or instruction.dims is not None:
            if leaves_rank_open(value) and (not plain or (fresh and shows_rank(scope, node))):
                assert_no_more_dimensions(scope, value)
        elif fresh and _is_loaded_whole(scope, instruction, value) and shows_rank(scope, node):
            scope.assert_that(f"len({_first_alike(scope, value.base)}.shape) > 1", "2 dimensions at least")


def _is_loaded_whole(scope: Scope, instruction: Instruction, view: Operand) -> bool:
    """Does a tile get the shape of a tensor that may have one dimension?"""
    whole = isinstance(view.value, Hbm) and view.dims is None and not view.is_view and instruction.like == view.like
    return whole and rank_at_least(scope.function, None, view.base) < 2


def _first_alike(scope: Scope, name: str) -> str:
    """The first parameter that has the shape of ``name``, as the kernel asserts: what holds of one holds of all."""
    alike = {name, *same_shape(scope.function, name)}
    return next((arg.arg for arg in scope.function.args.args if arg.arg in alike), name)


def assert_rank_of_part(scope: Scope, view: Operand, node: ast.AST | None = None) -> None:
    """The kernel asserts the rank of a tensor of which a part gets a name (``node``), or goes to a function."""
    if view.known_dims is not None and leaves_rank_open(view) and (node is None or shows_rank(scope, node)):
        assert_no_more_dimensions(scope, view)


def leaves_rank_open(view: Operand) -> bool:
    """May a tensor have dimensions behind those that a subscript names? Index vectors name all, or Beta 1 refuses."""
    sliced = view.items is not None and all(axis is None for axis in view.axes)
    return view.value.dims is None and sliced and not view.prefix and not view.is_view


def assert_no_more_dimensions(scope: Scope, view: Operand) -> None:
    """The kernel asserts that a tensor has the dimensions that a subscript names; a tile has two in any case."""
    rank, missing = len(view.items or ()), 2 - len(view.dims or ())
    if missing > 0 and isinstance(view.value, Hbm):
        scope.assert_that(f"len({view.base}.shape) <= {rank + missing}", f"{rank + missing} dimensions at most")
        scope.assume(
            f"{view.base} has one element in each row from dimension {rank} on", "the copy takes no more of them"
        )
    else:
        assert_dimensions(scope, view, rank)


def shows_rank(scope: Scope, made: ast.AST) -> bool:
    """Does it show in what the function does with a tile whether it has more dimensions, of size 1 behind the others?

    It does in its shape, in reductions that count axes from the end, and wherever the tile leaves the function.
    """
    return not all_uses(scope, made, _bound_to)


def _bound_to(scope: Scope, node: ast.AST, parents: dict[ast.AST, ast.AST]) -> set[str] | None:
    """The names that get a tile or what is computed from it; ``None`` where its rank shows."""
    parent = parents.get(node)
    match parent:
        case ast.Attribute(attr="dtype") | ast.Expr():
            return set()
        case ast.Subscript():
            counted = any(isinstance(n, ast.Constant) and n.value is Ellipsis for n in walk(parent.slice))
            whole = isinstance(parent.slice, ast.Constant)
            return None if node is parent.slice or (counted and not whole) else _bound_to(scope, parent, parents)
        case ast.Call():
            return _bound_to(scope, parent, parents) if _is_blind(scope, parent) else None
        case ast.keyword() | ast.BinOp() | ast.UnaryOp():
            return _bound_to(scope, parent, parents)
        case ast.Assign():
            names = {target.id for target in parent.targets if isinstance(target, ast.Name)}
            return names if all(isinstance(target, ast.Name | ast.Subscript) for target in parent.targets) else None
        case ast.AugAssign():
            return {parent.target.id} if isinstance(parent.target, ast.Name) else set()
    return None


def _is_blind(scope: Scope, call: ast.Call) -> bool:
    """Does an instruction compute the same of tiles that differ in dimensions of size 1 behind all others?

    A list of axes becomes that of 0.2, which counts from the last dimension: to count it from the first again, the
    rank must be told, and ``nl.load``, where it stays, does not tell it.
    """
    name = scope.qualified(call.func) or ""
    given = dict(zip(parameters(name), call.args, strict=False)) if name.startswith(("nl.", "nisa.")) else {}
    given |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
    if "mask" in given:
        return False
    if name in _REDUCTIONS:
        axes = literal_axes(given["axis"]) if "axis" in given else None
        counts_back = name == "nisa.tensor_reduce" and len(axes or ()) > 1 and has_again(scope, "nl.load")
        return axes is not None and not counts_back and all(isinstance(axis, int) and axis > 0 for axis in axes)
    return name in _ALIKE or operator_token(name) is not None or activation_token(name) is not None
