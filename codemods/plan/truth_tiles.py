"""The type of the tile that a comparison gives: ``bool_``, as in Beta 1, or ``uint8`` where no use tells them apart.

A sum of truth values is a truth value in Beta 1, and one of ``uint8`` counts. Beta 2 chooses by tiles of ``uint8``,
not of ``bool_``.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..analysis.load_ranks import all_uses
from ..expr.values import Tile
from ..render.masks import OPERATORS

if TYPE_CHECKING:
    from ..analysis.scope import Scope

COMPARISONS = "equal not_equal greater greater_equal less less_equal logical_and logical_or logical_xor".split()
"""Functions of ``nl`` that give truth values, if they get no ``dtype=``."""
_CHOOSERS = {"nl.where": "condition", "nisa.tensor_copy_predicated": "predicate"}
_BLIND = {*(f"nl.{name}" for name in COMPARISONS), "nl.store"}
"""What takes truth values of either type for the same."""


def comparison_token(scope: Scope, node: ast.expr) -> str:
    """The operator of a comparison of tiles (``a == b``), which makes a tile of truth values; empty for any other."""
    if not isinstance(node, ast.Compare) or len(node.ops) != 1:
        return ""
    sides = (node.left, node.comparators[0])
    absent = any(isinstance(side, ast.Constant) and side.value is None for side in sides)
    return OPERATORS.get(type(node.ops[0]), "") if not absent and any(_is_tile(scope, s) for s in sides) else ""


def _is_tile(scope: Scope, node: ast.expr) -> bool:
    owner = node.value if isinstance(node, ast.Subscript) else node
    named = isinstance(owner, ast.Name) and isinstance(scope.names.env.get(owner.id), Tile)
    return named or scope.evaluator.is_computation(scope, node)


def truth_type(scope: Scope, comparison: ast.AST) -> str:
    """The data type of what a comparison gives, by all that the function does with it."""
    return f"{scope.nl}.{'bool_' if shows_its_type(scope, comparison) else 'uint8'}"


def shows_its_type(scope: Scope, made: ast.AST) -> bool:
    """Does a function do more with a tile, or with a part of it, than to store it, or to choose by it?"""
    return not all_uses(scope, made, _bound_to)


def _bound_to(scope: Scope, node: ast.AST, parents: dict[ast.AST, ast.AST]) -> set[str] | None:
    """The names that get a truth value; ``None`` where its type shows."""
    parent = parents.get(node)
    match parent:
        case ast.Call():
            name = scope.qualified(parent.func) or ""
            chooses = name == "nl.where" and parent.args[:1] == [node]
            return set() if name in _BLIND or chooses else None
        case ast.keyword():
            call = parents.get(parent)
            name = (scope.qualified(call.func) or "") if isinstance(call, ast.Call) else ""
            return set() if name in _BLIND or (parent.arg is not None and _CHOOSERS.get(name) == parent.arg) else None
        case ast.Subscript():
            return None if node is parent.slice else _bound_to(scope, parent, parents)
        case ast.Assign():
            names = {target.id for target in parent.targets if isinstance(target, ast.Name)}
            return names if all(isinstance(target, ast.Name | ast.Subscript) for target in parent.targets) else None
        case ast.Expr():
            return set()
    return None
