"""Tuples of tensors: ``state`` and ``state[0]``, where it is known what ``state`` holds."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..expr.values import Several, Value

if TYPE_CHECKING:
    from .scope import Scope


def part_of(scope: Scope, node: ast.expr) -> tuple[str, Value] | None:
    """A tuple under a name, or a part of one (by a number), as text and as a kind; ``None`` for anything else."""
    if isinstance(node, ast.Name):
        value = scope.names.env.get(node.id)
        return (node.id, value) if isinstance(value, Several) else None
    if not isinstance(node, ast.Subscript) or isinstance(node.slice, ast.Slice | ast.Tuple):
        return None
    whole = part_of(scope, node.value)
    number = scope.constant(ast.unparse(node.slice)) if whole is not None else None
    if whole is None or number is None or not isinstance(whole[1], Several):
        return None
    count = len(whole[1].parts)
    return (f"{whole[0]}[{number % count}]", whole[1].parts[number]) if -count <= number < count else None
