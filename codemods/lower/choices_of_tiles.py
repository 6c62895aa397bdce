"""``tile if flag else other`` as an operand: a condition of Python chooses while Beta 2 traces, too.

Two whole tiles that one name can mean get a name. A (partitions, 1) tile or a number stays as it is written: the
parameters of an instruction that take either take both.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from ..analysis.maybe_tensors import may_be_no_number
from ..analysis.name_views import described
from ..expr.operands import Operand
from ..expr.values import ColumnOrNumber, Tile
from ..render.expressions import render
from ..render.patterns import of_name
from ..syntax.nodes import root_of
from .access import operand
from .tensor_lists import either_tensor

if TYPE_CHECKING:
    from ..analysis.scope import Scope

TILES_OR_NUMBERS = {"initial", "operand0", "operand1", "scale"}
"""Parameters of instructions that are a (partitions, 1) tile or a number."""


def chosen_tile(scope: Scope, node: ast.IfExp) -> Operand | None:
    """The tile that a condition chooses, under a name; ``None`` where it may be no tile of one kind."""
    found = either_tensor(scope, node)
    if found is None or not isinstance(found[1], Tile) or found[1].space != "sbuf":
        return None
    name = scope.fresh("chosen_tile")
    tile = described(name, replace(found[1], declaration=None))
    if not isinstance(tile, Tile):
        return None
    scope.emit(f"{name} = {found[0]}")
    scope.names.env[name] = tile
    return of_name(scope, name, tile)


def tile_or_number(scope: Scope, node: ast.expr) -> str | None:
    """A (partitions, 1) tile or a number, by a condition, or a name for that; ``None`` for any other expression."""
    if isinstance(node, ast.Name) and isinstance(scope.names.env.get(node.id), ColumnOrNumber):
        return node.id
    if not isinstance(node, ast.IfExp) or scope.masks.clamps or scope.masks.stairs is not None:
        return None
    sides = node.body, node.orelse
    numbers = [not may_be_no_number(scope, side) for side in sides]
    columns = [None if number else _column(scope, side) for side, number in zip(sides, numbers, strict=True)]
    if all(numbers) or any(not n and c is None for n, c in zip(numbers, columns, strict=True)):
        return None
    texts = [column or render(scope, side) for side, column in zip(sides, columns, strict=True)]
    return f"{texts[0]} if {render(scope, node.test)} else {texts[1]}"


def _column(scope: Scope, node: ast.expr) -> str | None:
    """The text of a (partitions, 1) tile in SBUF, or of such a part of one; ``None`` for anything else."""
    root = root_of(node)
    tile = scope.names.env.get(root.id) if root is not None else None
    if not isinstance(tile, Tile) or tile.space != "sbuf" or tile.dims is None:
        return None
    found = operand(scope, node)
    plain = found is not None and not found.dynamic and found.rows_at is None
    if found is None or not plain or found.dims is None or (isinstance(found.value, Tile) and found.value.blocks):
        return None
    return found.text(()) if len(found.dims) == 2 and scope.constant(found.dims[1]) == 1 else None
