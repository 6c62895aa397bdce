"""What a function does with ``nl.load(x[i])``: does it take one element, or whatever dimensions ``x`` has left?"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..syntax.nodes import parents_of, uses_by_name
from .maybe_tensors import TENSOR_ATTRIBUTES

if TYPE_CHECKING:
    from .scope import Scope


BoundTo = Callable[["Scope", ast.AST, dict[ast.AST, ast.AST]], set[str] | None]
"""The names that a node gives its value to, with all that it stands in; ``None`` for a use that ends the search."""


def has_any_shape(scope: Scope, load: ast.Call) -> bool:
    """Does the function compute with and move what it loads as tiles of any shape, in all that it does with it?

    What is an index, is repeated, or leaves the function may be one element that these uses need.
    """
    return all_uses(scope, load, _bound_to)


def all_uses(scope: Scope, made: ast.AST, bound_to: BoundTo) -> bool:
    """Is no use of a tile, nor of what is computed from it, one for which ``bound_to`` gives ``None``?"""
    parents = parents_of(scope.function)
    names: set[str] = set()
    pending: list[ast.AST] = [made]
    while pending:
        node = pending.pop()
        bound = bound_to(scope, node, parents)
        if bound is None:
            return False
        for name in bound - names:
            names.add(name)
            uses = uses_by_name(scope.function).get(name, [])
            pending += [n for n in uses if isinstance(n.ctx, ast.Load)]
    return True


def _bound_to(scope: Scope, node: ast.AST, parents: dict[ast.AST, ast.AST]) -> set[str] | None:
    """The names that get a tile of any shape, or what is computed from it; ``None`` for uses that need one of them."""
    parent = parents.get(node)
    match parent:
        case ast.Attribute():
            return set() if parent.attr in TENSOR_ATTRIBUTES else None
        case ast.Subscript():
            is_element = _is_by_numbers(parent) or node is parent.slice
            return None if is_element else _bound_to(scope, parent, parents)
        case ast.Call():
            name = scope.qualified(parent.func) or ""
            plain = name.startswith(("nl.", "nisa.")) and name != "nl.broadcast_to"
            return _bound_to(scope, parent, parents) if plain else None
        case ast.keyword() | ast.BinOp() | ast.UnaryOp():
            return _bound_to(scope, parent, parents)
        case ast.Assign():
            names = {target.id for target in parent.targets if isinstance(target, ast.Name)}
            return names if all(isinstance(target, ast.Name | ast.Subscript) for target in parent.targets) else None
        case ast.AnnAssign(target=ast.Name(id=name)):
            return {name}
        case ast.AugAssign() | ast.Expr():
            return set()
    return None


def _is_by_numbers(node: ast.Subscript) -> bool:
    """Is a subscript of literal numbers only?"""
    elements = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return all(isinstance(element, ast.Constant) and type(element.value) is int for element in elements)
