"""Lists of whole tensors in HBM: ``f([x, y])``, a loop over them, a list that a function fills and returns."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..analysis.joins import merged
from ..expr.values import Hbm, Python, Tensors, Value
from ..render.expressions import render
from ..syntax.node_index import of_kinds
from ..syntax.nodes import appended_to
from .access import operand

if TYPE_CHECKING:
    from ..analysis.scope import Scope


def listed_tensors(scope: Scope, node: ast.expr) -> Tensors | None:
    """The list of tensors in HBM that an argument is; ``None`` for any other."""
    if isinstance(node, ast.List | ast.Tuple) and node.elts:
        values = [scope.names.env.get(e.id) if isinstance(e, ast.Name) else None for e in node.elts]
        return Tensors() if all(isinstance(v, Hbm) and not v.view for v in values) else None
    value = scope.names.env.get(node.id) if isinstance(node, ast.Name) else None
    return value if isinstance(value, Tensors) else None


def append(scope: Scope, node: ast.Call) -> bool:
    """``tensors.append(x)`` to a list that holds tensors only; ``False`` for any other call."""
    name = appended_to(node)
    if not isinstance(scope.names.env.get(name), Tensors):
        return False
    found = whole_tensor(scope, node.args[0])
    scope.names.env[name] = Python() if found is None or not isinstance(found[1], Hbm) else Tensors()
    if found is not None:
        scope.emit(f"{name}.append({found[0]})")
    return found is not None


def whole_tensor(scope: Scope, node: ast.expr) -> tuple[str, Value] | None:
    """A whole tensor, or one of two, as text and as a kind; ``None`` for anything else."""
    if isinstance(node, ast.IfExp):
        return either_tensor(scope, node)
    view = operand(scope, node) if _is_plain(scope, node) else None
    if view is None or view.items is not None or view.pattern is not None or view.is_view:
        return None
    return view.text(()), view.value


def _is_plain(scope: Scope, node: ast.expr) -> bool:
    """Is an expression a name, or a reshape of a tensor in HBM, which asserts nothing?"""
    if isinstance(node, ast.Name):
        return True
    function = node.func if isinstance(node, ast.Call) else None
    owner = function.value if isinstance(function, ast.Attribute) and function.attr == "reshape" else None
    return isinstance(owner, ast.Name) and isinstance(scope.names.env.get(owner.id), Hbm)


def either_tensor(scope: Scope, node: ast.IfExp) -> tuple[str, Value] | None:
    """``a if flag else b`` of two whole tensors that one name can mean; ``None`` for anything else."""
    unmasked = _unmasked(scope, node)
    if unmasked is not None:
        return whole_tensor(scope, unmasked)
    sides = [whole_tensor(scope, side) for side in (node.body, node.orelse)]
    if sides[0] is None or sides[1] is None:
        return None
    (a, first), (b, second) = sides[0], sides[1]
    scope.evaluator.list_both(scope, first, second)
    result = merged("result", first, second)
    if type(result) is Value:
        return None
    return f"{a} if {render(scope, node.test)} else {b}", result


def _unmasked(scope: Scope, node: ast.IfExp) -> ast.Name | None:
    """``x`` of ``x[mask] if mask else x``, where ``mask`` is passed on as a mask: in Beta 2 it is true, or nothing."""
    part, test = node.body, node.test
    plain = isinstance(part, ast.Subscript) and isinstance(test, ast.Name) and isinstance(node.orelse, ast.Name)
    if not plain or ast.unparse(part) != f"{ast.unparse(node.orelse)}[{ast.unparse(test)}]":
        return None
    calls = (n for n in of_kinds(scope.function, ast.Call))
    masks = {ast.unparse(k.value) for call in calls for k in call.keywords if k.arg == "mask"}
    known = isinstance(scope.names.env.get(ast.unparse(test)), Python)
    return node.orelse if known and ast.unparse(test) in masks and isinstance(node.orelse, ast.Name) else None
