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
from ..expr import algebra
from ..expr.operands import Operand
from ..expr.values import Tile
from ..render.expressions import render
from ..render.patterns import of_name
from .tensor_lists import either_tensor, whole_tensor

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
    choice = node
    if isinstance(node, ast.Name):
        choice = algebra.parse(scope.sizes.definitions.get(node.id, node.id))
    if not isinstance(choice, ast.IfExp) or scope.masks.clamps or scope.masks.stairs is not None:
        return None
    sides = choice.body, choice.orelse
    numbers = [not may_be_no_number(scope, side) for side in sides]
    texts = [render(scope, s) if n else _column(scope, s) for s, n in zip(sides, numbers, strict=True)]
    if all(numbers) or None in texts:
        return None
    return node.id if isinstance(node, ast.Name) else f"{texts[0]} if {render(scope, choice.test)} else {texts[1]}"


def _column(scope: Scope, node: ast.expr) -> str | None:
    """The text of a whole (partitions, 1) tile in SBUF; ``None`` for anything else."""
    found = whole_tensor(scope, node)
    tile = found[1] if found is not None else None
    if found is None or not isinstance(tile, Tile) or tile.space != "sbuf" or tile.dims is None:
        return None
    return found[0] if len(tile.dims) == 2 and scope.constant(tile.dims[1]) == 1 else None
