"""Names that index vectors take elements of: Beta 1 has such subscripts of tensors only.

``x[nl.arange(n)[:, None], 0]`` is no element of a list or of a dictionary. Where the function does not tell otherwise
what ``x`` is, the subscript does: what stands in the subscript of another tensor is a tile of indices.

Source: NKI 2.26.1, "Tensor indexing" (basic and advanced indexing of tensors, dynamic access).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..expr.values import Grid, Index
from ..syntax.node_index import children, indexed, of_kinds, walk
from ..syntax.nodes import uses_by_name
from .index import COMPONENTS

if TYPE_CHECKING:
    from ..analysis.scope import Scope


def vector_subscripts(scope: Scope, name: str) -> Iterator[ast.Subscript]:
    """The subscripts of the parameter ``name`` that hold an index vector; none where it is bound again."""
    for node in _subscripts_of(scope.function, name) if scope.names.assigned[name] == 1 else ():
        elements = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        yield from [node] if any(_is_vector(scope, element, ()) for element in elements) else []


def is_tensor_subscript(scope: Scope, node: ast.Subscript) -> bool:
    """Does a subscript take a part as Python's lists and dictionaries have none: slices, vectors, an ellipsis?"""
    elements = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return any(_is_part(scope, element) for element in elements)


def _is_part(scope: Scope, element: ast.expr) -> bool:
    if isinstance(element, ast.Call) and scope.qualified(element.func) == "nl.ds":
        return True
    whole = isinstance(element, ast.Constant) and element.value is Ellipsis
    return whole or isinstance(element, ast.Slice) or _is_vector(scope, element, ())


@indexed
def _subscripts_of(function: ast.FunctionDef, name: str) -> tuple[ast.Subscript, ...]:
    """The subscripts ``name[..]`` of a function but for those of nested functions that have such a parameter."""
    found: list[ast.Subscript] = []
    pending: list[ast.AST] = list(function.body) if name in uses_by_name(function) else []
    while pending:
        node = pending.pop()
        if isinstance(node, ast.FunctionDef) and any(a.arg == name for a in of_kinds(node.args, ast.arg)):
            continue
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == name:
            found.append(node)
        pending += children(node)
    return tuple(found)


def is_index_tile(scope: Scope, name: str) -> bool:
    """Does the function index a tensor with elements that index vectors take of ``name``?"""
    taken = set(vector_subscripts(scope, name))
    subscripts = (node for node in of_kinds(scope.function, ast.Subscript)) if taken else iter(())
    return any(part in taken for node in subscripts for part in walk(node.slice))


def _is_vector(scope: Scope, node: ast.expr, seen: tuple[str, ...]) -> bool:
    """Is an expression certainly an index vector, wherever in the function it stands?"""
    if isinstance(node, ast.Call):
        return scope.qualified(node.func) == "nl.arange"
    if isinstance(node, ast.BinOp):
        return _is_vector(scope, node.left, seen) or _is_vector(scope, node.right, seen)
    if isinstance(node, ast.UnaryOp):
        return _is_vector(scope, node.operand, seen)
    if isinstance(node, ast.Subscript):
        return scope.qualified(node.value) == "nl.mgrid" or _is_vector(scope, node.value, seen)
    if isinstance(node, ast.Attribute):
        return node.attr in COMPONENTS and _is_vector(scope, node.value, seen)
    if not isinstance(node, ast.Name) or node.id in seen:
        return False
    if isinstance(scope.names.env.get(node.id), Index | Grid):
        return True
    values = _bound_to(scope, node.id)
    return bool(values) and all(_is_vector(scope, value, (*seen, node.id)) for value in values)


def _bound_to(scope: Scope, name: str) -> list[ast.expr]:
    """All that the function binds ``name`` to, one by one or as one of several; nothing where it is bound otherwise."""
    values = []
    for statement in of_kinds(scope.function, ast.Assign):
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                names = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
                values += [statement.value for n in names if isinstance(n, ast.Name) and n.id == name]
    return values if len(values) == scope.names.assigned[name] else []
