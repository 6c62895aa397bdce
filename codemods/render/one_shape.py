"""Tiles of unknown sizes: combined as a trace finds them, or taken to be equal.

Where nothing later would tell that they are not, the kernel asserts it.

Beta 1 broadcasts (P, 4, 1) and (P, 1, 4) to (P, 4, 4), Beta 2 combines their four elements one by one. Whatever needs
the larger shape ends the kernel then, but a reduction over several dimensions, or over all, has a result all the same.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..analysis.instructions import Instruction
from ..expr.values import Tile
from ..project.own_assertions import same_shape
from ..syntax.node_index import of_kinds
from .shapes import literal_axes, shape_text
from .support import combined_function, wider_shape_function

if TYPE_CHECKING:
    from ..analysis.scope import Scope
    from ..expr.operands import Operand
    from ..project.program import Program

REVERSIBLE = {"add", "multiply", "maximum", "minimum"}
"""Operators whose operands can change places."""

_REDUCTIONS = {"sum", "max", "min", "prod", "mean", "tensor_reduce"}
_WHOLE = {"activation_reduce", "tensor_scalar_reduce", "select_reduce", "max8", "nc_find_index8", "bn_stats"}
"""Instructions that reduce all free dimensions, however many there are."""


def assert_one_shape(scope: Scope, node: ast.expr, a: Operand, b: Operand) -> None:
    """Two tiles are taken to have one shape, which the kernel asserts where nothing later would tell that they do not.

    Elsewhere the instruction itself refuses tiles of others, which Beta 1 may repeat: that is said, and not asserted.
    ``node`` is what combines them; instructions of Beta 1 repeat one tile at most, which the numbers of elements tell.
    """
    shapes = [shape_text(scope, side.dims, side.like) for side in (a, b)]
    if "" in shapes or shapes[0] == shapes[1] or _is_asserted(scope, *shapes):
        return
    told = _is_told(scope, a, b)
    if not told and not _function(scope, node).startswith("nisa.") and scope.module.program.fact(_hides_shapes):
        scope.assert_that(f"{shapes[0]} == {shapes[1]}", "tiles of one shape")
    elif not told or _may_be_repeated(scope, node, a, b):
        scope.assume(f"{shapes[0]} == {shapes[1]}", "rewritten for tiles of one shape")


def _function(scope: Scope, node: ast.expr) -> str:
    """What ``node`` calls; empty for an operator."""
    return (scope.qualified(node.func) or "") if isinstance(node, ast.Call) else ""


def _is_asserted(scope: Scope, shape: str, other: str) -> bool:
    """Does the source itself assert that two tiles have one shape?"""
    names = [text.removesuffix(".shape") for text in (shape, other)]
    return names != [shape, other] and names[1] in same_shape(scope.function, names[0])


def _may_be_repeated(scope: Scope, node: ast.expr, a: Operand, b: Operand) -> bool:
    """May Beta 1 repeat one of two tiles: do only calls tell a size of one, or the shapes of two tensors both sizes?

    Only functions of ``nl`` repeat over partitions; operators and instructions refuse it in Beta 1, too. A part of a
    tile has the sizes that the kernel gives it.
    """
    if a.dims is None or b.dims is None or len(a.dims) != len(b.dims):
        return True
    first = 0 if _function(scope, node).startswith("nl.") else 1
    pairs = list(zip(a.dims, b.dims, strict=True))[first:]
    return any(_is_open(scope, {x, y}, (a, b)) for x, y in pairs if not scope.equal(x, y))


def _is_open(scope: Scope, sizes: set[str], tiles: tuple[Operand, Operand]) -> bool:
    """Is one of two sizes that of a whole tile which is not known, or are they sizes of two tensors?"""
    own = {f"{tile.like}[{d}]" for tile in tiles if tile.like for d in range(len(tile.dims or ()))}
    return not own.isdisjoint(sizes) or sizes <= set(scope.sizes.told.alike.values())


def combined_as_traced(scope: Scope, token: str, a: Operand, b: Operand, dtype: str | None) -> Instruction | None:
    """``a token b`` where only a trace tells whether one of them is repeated along its free dimensions."""
    columns = [_may_be_column(scope, side) for side in (a, b)]
    if scope.masks.clamps or scope.masks.stairs is not None or "hbm" in (a.space, b.space):
        return None
    shapes = [shape_text(scope, side.dims, side.like) for side in (a, b)]
    perhaps = any(columns) or _is_wide_beside_unknown(a, b) or _is_wide_beside_unknown(b, a)
    if "" in shapes or shapes[0] == shapes[1] or not perhaps:
        return None
    known = next((side.dims for side, column in zip((a, b), columns, strict=True) if not column and side.dims), None)
    like = "" if known else f"{wider_shape_function(scope)}({', '.join(shapes)})"
    given: list[tuple[str, Operand | str]] = [("a", a), ("b", b), ("op", f"{scope.nl}.{token}")]
    given += [] if token in REVERSIBLE else [("ordered", "True")]
    return Instruction(combined_function(scope), given, known, dtype, like=like, support=True)


def _may_be_column(scope: Scope, side: Operand) -> bool:
    """May a tile have one element in each partition, or several? Where branches differ, its name tells the size."""
    if not isinstance(side.value, Tile) or not side.value.perhaps_column:
        return False
    if side.dims is None:
        return True
    is_whole = side.dims == side.value.dims and len(side.dims) == 2
    return is_whole and scope.constant(side.dims[1]) is None


def _is_wide_beside_unknown(wide: Operand, other: Operand) -> bool:
    """Is a tile of two known dimensions beside one of any shape that the function loads whole, or computes of that?

    A tile that the function gets is taken to have the shape of the other one.
    """
    made = isinstance(other.value, Tile) and other.value.declaration is not None
    return wide.dims is not None and len(wide.dims) == 2 and other.dims is None and made


def _is_told(scope: Scope, a: Operand, b: Operand) -> bool:
    """Can tiles of as many elements in a partition differ in one free dimension at most?"""
    if a.dims is None or b.dims is None:
        return any(side.dims is not None and len(side.dims) == 2 for side in (a, b))
    free = zip(a.dims[1:], b.dims[1:], strict=False)
    return len(a.dims) != len(b.dims) or sum(not scope.equal(x, y) for x, y in free) < 2


def _hides_shapes(program: Program) -> bool:
    """Does a function reduce several dimensions at once, or others than the second?"""
    return any(_hides(node) for module in program.modules.values() for node in of_kinds(module.source.tree, ast.Call))


def _hides(node: ast.Call) -> bool:
    if not isinstance(node.func, ast.Attribute):
        return False
    given = {keyword.arg: keyword.value for keyword in node.keywords}
    if node.func.attr in _WHOLE or "reduce_res" in given:
        return True
    axis = given.get("axis", node.args[-1] if node.args else None)
    return node.func.attr in _REDUCTIONS and axis is not None and literal_axes(axis) != (1,)
