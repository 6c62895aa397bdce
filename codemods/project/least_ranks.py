"""The least rank that a tensor can have, by what its function takes of it: ``x.shape[-4]``, ``x[i, j, 0:m, 0:n]``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..syntax.node_index import indexed, walk
from ..syntax.nodes import assignment_counts
from .own_assertions import least_rank, same_shape

Branches = frozenset[tuple[ast.AST, bool]]
"""The conditions that a node stands under, each with the side that it stands on."""


def rank_at_least(function: ast.FunctionDef, node: ast.expr | None, name: str) -> int:
    """The least rank of the parameter ``name`` where ``node`` stands (``None``: by what always runs).

    It is 0 for a name that is bound to more than that.
    What other branches take of it tells nothing: it may have another rank there.
    """
    if assignment_counts(function)[name] > 1:
        return 0
    placed = [pair for statement in function.body for pair in _placed_in(statement)]
    here = next((branches for found, branches in placed if found is node), frozenset())
    always = [found for found, branches in placed if isinstance(found, ast.Assert | ast.Subscript) and branches <= here]
    names = (name, *same_shape(function, name))
    return max((_needed(function, found, n) for found in always for n in names), default=0)


@indexed
def counts_from_the_end(function: ast.FunctionDef, name: str) -> bool:
    """Does a function read ``x.shape[-1]``, or ``*_, n = x.shape``, which does not tell which dimension that is?"""
    for node in walk(function):
        if isinstance(node, ast.Subscript) and ast.unparse(node.value) == f"{name}.shape":
            bounds = [node.slice.lower, node.slice.upper] if isinstance(node.slice, ast.Slice) else [node.slice]
            if any(bound is not None and (_number(bound) or 0) < 0 for bound in bounds):
                return True
        unpacked = node.targets if isinstance(node, ast.Assign) and ast.unparse(node.value) == f"{name}.shape" else []
        if any(isinstance(part, ast.Starred) for target in unpacked for part in walk(target)):
            return True
    return False


@indexed
def _placed_in(statement: ast.stmt) -> tuple[tuple[ast.AST, Branches], ...]:
    return tuple(_placed(statement, frozenset()))


def _placed(node: ast.AST, branches: Branches) -> Iterator[tuple[ast.AST, Branches]]:
    """A node and all below it, with the branches that they stand in."""
    yield node, branches
    for field, value in ast.iter_fields(node):
        side = isinstance(node, ast.If | ast.IfExp) and field != "test"
        below = branches | {(node, field == "body")} if side else branches
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _placed(child, below)


def _needed(function: ast.FunctionDef, node: ast.AST, name: str) -> int:
    """The rank that one node needs."""
    if isinstance(node, ast.Assert):
        return least_rank(function, node.test, name)
    if not isinstance(node, ast.Subscript):
        return 0
    of = ast.unparse(node.value)
    if of == f"{name}.shape":
        place = _number(node.slice)
        return 0 if place is None else place + 1 if place >= 0 else -place
    return _indices(node.slice) if of == name else 0


def _indices(node: ast.expr) -> int:
    """How many dimensions a subscript names."""
    elements = node.elts if isinstance(node, ast.Tuple) else [node]
    constants = [e.value for e in elements if isinstance(e, ast.Constant)]
    plain = None not in constants and not any(isinstance(e, ast.Starred) for e in elements)
    return len(elements) - constants.count(Ellipsis) if plain else 0


def _number(node: ast.expr) -> int | None:
    sign, node = (-1, node.operand) if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else (1, node)
    return sign * node.value if isinstance(node, ast.Constant) and type(node.value) is int else None
