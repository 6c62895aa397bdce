"""The rank of a tensor of which a kernel takes ``x[a:b]`` alone: what its author says, or what the tile is used for.

Beta 1 traced the kernel and knew it. A subscript of one slice is a vector's, or that of the rows of a matrix; where the
function is written for both (its output has the shape ``x.shape``) neither is taken.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..expr.tables import operator_token, parameters
from ..project.documented_ranks import documented_ranks
from ..syntax.node_index import of_kinds
from ..syntax.nodes import parents_of, uses_by_name
from .load_ranks import has_any_shape

if TYPE_CHECKING:
    from .scope import Scope

_COLUMNS = {"nisa.tensor_scalar": ("operand0", "operand1"), "nisa.activation": ("bias", "scale")}
"""The parameters that take one number for each partition."""
_WITH_COLUMNS = {"nl.ndarray", "nl.zeros", "nl.ones", "nl.full", "nl.matmul", "nisa.nc_matmul"}
"""What makes a tile that has columns: of a shape that says so, where it takes one."""


def evident_rank(scope: Scope, load: ast.Call, name: str) -> int | None:
    """1 or 2 for the parameter ``name`` of which ``load`` takes ``name[a:b]``; ``None`` where nothing tells.

    What the documentation says comes first. A tile beside one that has columns is a vector's: a bias, a scale. A
    function that needs one element a row (``nl.load(x[a:b]).reshape((n, 1))``) tells nothing more.
    """
    said = documented_ranks(scope.source.tree, scope.source.text, scope.function, name)
    if said:
        return said.pop() if said in ({1}, {2}) else None
    if not has_any_shape(scope, load) or not _only_rows_are_taken(scope.function, name):
        return None
    return 1 if any(_is_column(scope, node, parent) for node, parent in _uses(scope, load)) else None


def _only_rows_are_taken(function: ast.FunctionDef, name: str) -> bool:
    """Does a function take ``x[a:b]``, ``x.shape[0]`` and ``x.dtype`` of a tensor, and nothing else?"""
    parents = parents_of(function)
    for use in uses_by_name(function).get(name, []):
        match parents[use], parents.get(parents[use]):
            case ast.Subscript(value=base), _ if base is use:
                continue
            case ast.Attribute(attr="dtype"), _:
                continue
            case ast.Attribute(attr="shape"), ast.Subscript(slice=ast.Constant(value=0)):
                continue
        return False
    return True


def _uses(scope: Scope, load: ast.Call) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Where a tile, or what is computed from it, stands, each with the node around it."""
    parents = parents_of(scope.function)
    names: set[str] = set()
    pending: list[ast.AST] = [load]
    while pending:
        node = pending.pop()
        parent = parents.get(node)
        match parent:
            case ast.Assign():
                new = {target.id for target in parent.targets if isinstance(target, ast.Name)} - names
                names |= new
                uses = (use for name in new for use in uses_by_name(scope.function).get(name, []))
                pending += [use for use in uses if isinstance(use.ctx, ast.Load)]
            case ast.Subscript() if node is parent.value:
                pending.append(parent)
            case ast.keyword() | ast.UnaryOp():
                pending.append(parent)
            case ast.BinOp() | ast.Call():
                yield node, parent
                pending.append(parent)


def _is_column(scope: Scope, node: ast.AST, parent: ast.AST) -> bool:
    """Does ``parent`` repeat ``node`` along the columns of another tile, or take it as one number a partition?"""
    if isinstance(parent, ast.BinOp):
        return _has_columns(scope, parent.left if node is parent.right else parent.right)
    if not isinstance(parent, ast.Call):
        return False
    name = scope.qualified(parent.func) or ""
    given = dict(zip(parameters(name), parent.args, strict=False)) if name.startswith(("nl.", "nisa.")) else {}
    given |= {keyword.arg: keyword.value for keyword in parent.keywords if keyword.arg is not None}
    if any(given.get(parameter) in (node, _value(node)) for parameter in _COLUMNS.get(name, ())):
        return True
    both = operator_token(name) is not None or name == "nisa.tensor_tensor"
    return both and any(_has_columns(scope, other) for other in given.values() if other not in (node, _value(node)))


def _value(node: ast.AST) -> ast.AST:
    return node.value if isinstance(node, ast.keyword) else node


def _has_columns(scope: Scope, node: ast.expr) -> bool:
    """Is it computed of a tile that was made, or loaded, with more than one column?"""
    names = {name.id for name in of_kinds(node, ast.Name)}
    made = [s.value for s in of_kinds(scope.function, ast.Assign) if not names.isdisjoint(_named(s))]
    return any(_makes_columns(scope, call) for value in (node, *made) for call in of_kinds(value, ast.Call))


def _named(statement: ast.Assign) -> set[str]:
    return {target.id for target in statement.targets if isinstance(target, ast.Name)}


def _makes_columns(scope: Scope, call: ast.Call) -> bool:
    name = scope.qualified(call.func) or ""
    if name not in _WITH_COLUMNS:
        return name == "nl.load" and bool(call.args) and _takes_columns(call.args[0])
    if "shape" not in parameters(name):
        return True
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    shape = call.args[0] if call.args else given.get("shape")
    return isinstance(shape, ast.Tuple | ast.List) and len(shape.elts) > 1 and not _is_one(shape.elts[-1])


def _takes_columns(node: ast.expr) -> bool:
    elements = node.slice.elts if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple) else []
    return len(elements) > 1 and isinstance(elements[-1], ast.Slice)


def _is_one(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 1
