"""Lists and tuples of numbers that are written out, ``[0.5, 1.0]`` or ``((1, 2), (3, 4))``, and do not change."""

from __future__ import annotations

import ast

from .module_level import module_statements
from .node_index import indexed, of_kinds
from .nodes import is_name, parents_of

_READERS = {"len", "enumerate", "zip", "sum", "min", "max"}


@indexed
def listed_kinds(root: ast.FunctionDef | ast.Module, name: str) -> tuple[frozenset[type], int]:
    """The types of the numbers of the list that a function, or a module at its top level, binds ``name`` to once.

    And how many subscripts lead to a number. No types, and 0, where it is no such list, or something may change it.
    """
    stores = [n for n in of_kinds(root, ast.Name) if n.id == name and not isinstance(n.ctx, ast.Load)]
    values = [s.value for s in of_kinds(root, ast.Assign) if len(s.targets) == 1 and s.targets[0] in stores]
    if len(stores) != 1 or len(values) != 1 or (isinstance(root, ast.Module) and not _is_at_top(root, values[0])):
        return frozenset(), 0
    kinds, depth = kinds_in(values[0])
    parents = parents_of(root)
    loads = [n for n in of_kinds(root, ast.Name) if n.id == name and isinstance(n.ctx, ast.Load)]
    if not all(_is_only_read(use, depth, parents) for use in loads):
        return frozenset(), 0
    return kinds, depth


def _is_at_top(module: ast.Module, value: ast.expr) -> bool:
    statements = (s for s in module_statements(module) if isinstance(s, ast.Assign))
    return any(statement.value is value for statement in statements)


def kinds_in(node: ast.expr) -> tuple[frozenset[type], int]:
    """The types of the numbers in a literal, and how deep they all lie in it; no types for any other expression."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return frozenset({type(node.value)}), 0
    parts = [kinds_in(each) for each in node.elts] if isinstance(node, ast.List | ast.Tuple) else []
    if not parts or not all(kinds for kinds, _ in parts) or len({depth for _, depth in parts}) != 1:
        return frozenset(), 0
    return frozenset().union(*(kinds for kinds, _ in parts)), parts[0][1] + 1


def _is_only_read(use: ast.Name, depth: int, parents: dict[ast.AST, ast.AST]) -> bool:
    """Is the use of a list one of its numbers, or, of a list without lists in it, its length or a loop over it?"""
    node: ast.AST = use
    for taken in range(depth):
        parent = parents[node]
        if isinstance(parent, ast.Subscript) and parent.value is node and isinstance(parent.ctx, ast.Load):
            node = parent
            continue
        if isinstance(parent, ast.For | ast.comprehension):
            return parent.iter is node and taken == depth - 1
        if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name) and parent.func.id in _READERS:
            return taken == depth - 1 or parent.func.id == "len"
        return False
    return True


@indexed
def elements_bound(function: ast.FunctionDef, name: str) -> tuple[ast.Subscript, ...]:
    """The elements of lists that a function binds ``name`` to, each as a subscript, whatever the index.

    ``w[i]`` of ``c = w[i]``, ``for c in w``, ``for i, c in enumerate(w)`` and ``for b, c in zip(v, w)``.
    """
    found = [s.value for s in of_kinds(function, ast.Assign) for t in s.targets if is_name(t, name)]
    for loop in of_kinds(function, ast.For):
        taken: list[tuple[ast.expr, ast.expr]] = [(loop.target, loop.iter)]
        if isinstance(loop.iter, ast.Call) and isinstance(loop.iter.func, ast.Name) and not loop.iter.keywords:
            reader, given = loop.iter.func.id, loop.iter.args
            targets = loop.target.elts if isinstance(loop.target, ast.Tuple) else []
            if reader == "enumerate" and len(targets) == 2 and given:
                taken = [(targets[1], given[0])]
            elif reader == "zip" and len(targets) == len(given):
                taken = list(zip(targets, given, strict=True))
        found += [ast.Subscript(listed, ast.Constant(0), ast.Load()) for each, listed in taken if is_name(each, name)]
    return tuple(each for each in found if isinstance(each, ast.Subscript))
