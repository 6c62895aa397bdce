"""``t[...] = nl.loop_reduce(x, op, ...)``: ``t = op(t, x)`` in each iteration.

A tensor that is only declared takes no part in it: Beta 1 starts the reduction with its first operand. Beta 2 would
read what was never written, so such a tensor is filled, where it is declared, with the number that changes no operand.
"""

from __future__ import annotations

import ast

from ..analysis.scope import Scope
from ..expr.emission import Refuse
from ..expr.operands import Operand
from ..expr.tables import operator_token
from ..expr.values import Tile
from ..rules.masks import masked
from ..rules.operator_tokens import token
from ..syntax.codes import NL_COMPUTE as CODE
from ..syntax.node_index import of_kinds
from ..syntax.nodes import is_name, way_to
from .compute import bound_call, place
from .elementwise import combined

_NEUTRAL = {"add": "-0.0", "multiply": "1.0"}
"""Operator -> what changes no operand: ``0.0 + -0.0`` is not ``-0.0``, but ``-0.0 + x`` is ``x``."""
_LIMITS = {"maximum": "-", "minimum": ""}
"""Operator -> the sign of the infinity that changes no operand of a type that has one."""
_WITH_INFINITY = ("float32", "bfloat16", "float16")
UNWRITTEN = ("nl.ndarray", "nl.empty_like")
"""What declares a tensor and leaves it as it is."""


def reduced(scope: Scope, node: ast.Call, destination: Operand) -> None:
    """Emit ``destination = op(destination, x)``."""
    call = bound_call(scope, node, "nl.loop_reduce")
    scope.apply(CODE, node)
    with masked(scope, node):
        if scope.qualified(call.arguments["op"]) is None:
            what = f"the operator {ast.unparse(call.arguments['op'])} of a reduction is not known"
            raise Refuse(node, CODE, what, "pass nl.<operator>")
        operator = token(call, "op").rpartition(".")[2]
        _check_start(scope, node, destination, operator)
        instruction = combined(scope, node, operator, destination, call.tensor("x"), destination.dtype)
        place(scope, node, instruction, destination)


def start_of_reductions(scope: Scope, name: str, dtype: str) -> str | None:
    """What fills the tensor ``name`` of a type, which is only declared; ``None`` where nothing is reduced into it."""
    operators = {_operator(scope, value) for _, target, value in _reductions(scope) if _base_name(target) == name}
    if len(operators) != 1 or _is_written_first(scope, name):
        return None
    return _neutral(scope, operators.pop() or "", dtype)


def _neutral(scope: Scope, operator: str, dtype: str) -> str | None:
    """The number that changes no operand; ``None`` where the type is not known to have it."""
    if operator in _LIMITS and dtype.rpartition(".")[2] in _WITH_INFINITY:
        return f"{_LIMITS[operator]}{scope.module.package('math', 'math')}.inf"
    return _NEUTRAL.get(operator)


def _check_start(scope: Scope, node: ast.Call, destination: Operand, operator: str) -> None:
    """Refuse a destination that may hold what was never written."""
    declaration = destination.value.declaration if isinstance(destination.value, Tile) else None
    if declaration is None and not scope.module.options.unsafe:
        message = f"a reduction into '{destination.base}', which another function declares"
        raise Refuse(
            node, CODE, message, "it must be filled there: Beta 1 would start with the first operand", "review"
        )
    made = declaration.node if declaration is not None else None
    if declaration is None or not isinstance(made, ast.Call) or scope.qualified(made.func) not in UNWRITTEN:
        return
    name = declaration.name
    start = start_of_reductions(scope, name, destination.dtype or "")
    if not _is_written_first(scope, name) and (
        start is None or start != _neutral(scope, operator, destination.dtype or "")
    ):
        message = f"a reduction into '{name}', which is only declared"
        raise Refuse(node, CODE, message, "fill it with what changes no operand, where it is declared")


def _reductions(scope: Scope) -> list[tuple[ast.stmt, ast.expr, ast.Call]]:
    """The statements with ``nl.loop_reduce`` in the function, their destinations and calls."""
    if "loop_reduce" not in scope.source.text:  # each declaration asks
        return []
    assigned = list(of_kinds(scope.function, ast.Assign))
    return [
        (node, target, node.value)
        for node in assigned
        for target in node.targets
        if isinstance(node.value, ast.Call) and scope.qualified(node.value.func) == "nl.loop_reduce"
    ]


def _operator(scope: Scope, node: ast.Call) -> str | None:
    given = next((keyword.value for keyword in node.keywords if keyword.arg == "op"), None)
    operator = given if given is not None else node.args[1] if len(node.args) > 1 else node
    return operator_token(scope.qualified(operator) or "")


def _base_name(node: ast.expr) -> str:
    """``t`` of ``t``, ``t[i]`` and ``t[i][j]``."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _is_written_first(scope: Scope, name: str) -> bool:
    """Does a statement ``name[...] = value`` fill it before each reduction into it, whatever the kernel runs?"""
    assigned = list(of_kinds(scope.function, ast.Assign))
    declared = [node for node in assigned for target in node.targets if is_name(target, name)]
    reduced = [statement for statement, target, _ in _reductions(scope) if _base_name(target) == name]
    return len(declared) == 1 and all(
        any(_fills(other, name) and other.lineno > declared[0].lineno and other not in reduced for other in earlier)
        for earlier in (_always_before(scope, statement) for statement in reduced)
    )


def _always_before(scope: Scope, statement: ast.stmt) -> list[ast.stmt]:
    """The statements of the blocks around ``statement`` that stand before it: they ran when it runs."""
    return [other for block, index in way_to(scope.function, statement) for other in block[:index]]


def _fills(statement: ast.stmt, name: str) -> bool:
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return any(
        isinstance(target, ast.Subscript)
        and isinstance(target.slice, ast.Constant)
        and target.slice.value is Ellipsis
        and is_name(target.value, name)
        for target in targets
    )
