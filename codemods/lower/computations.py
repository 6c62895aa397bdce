"""What makes a tile: calls of registered functions, operators on tiles, and methods that compute."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass

from ..analysis.instructions import HANDLERS, Instruction
from ..analysis.scope import Scope
from ..expr.operands import Operand
from ..plan.truth_tiles import comparison_token
from .access import operand, owner


def is_computation(scope: Scope, node: ast.expr) -> bool:
    """Does ``node`` make a tile (a registered call, or an operator on a tile)?"""
    if isinstance(node, ast.Call):
        return scope.qualified(node.func) in HANDLERS or _is_method(scope, node)
    if isinstance(node, ast.BinOp):
        return any(is_computation(scope, n) or operand(scope, n) is not None for n in (node.left, node.right))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Invert):
        return is_computation(scope, node.operand) or operand(scope, node.operand) is not None
    return bool(comparison_token(scope, node))


@dataclass(frozen=True)
class Method:
    """A method of tensors that takes an instruction on some operands, and is a view of the others.

    ``always``: on all that instructions have computed.
    """

    computes: Callable[[Scope, ast.Call, Operand], bool]
    lower: Callable[[Scope, ast.Call, Operand], Instruction]
    always: bool = False


METHODS: dict[str, Method] = {}


def _is_method(scope: Scope, node: ast.Call) -> bool:
    """Is a call one of a method that computes? A tensor that is computed itself need not be written to tell."""
    method = METHODS.get(node.func.attr) if isinstance(node.func, ast.Attribute) else None
    if method is None or not isinstance(node.func, ast.Attribute):
        return False
    return (method.always and is_computation(scope, node.func.value)) or method_of(scope, node) is not None


def method_of(scope: Scope, node: ast.Call) -> tuple[Method, Operand] | None:
    """The method that a call computes with, and its tensor; ``None`` for a view, or no method of a tensor."""
    if not isinstance(node.func, ast.Attribute) or node.func.attr not in METHODS:
        return None
    method, base = METHODS[node.func.attr], owner(scope, node.func.value)
    return (method, base) if base is not None and method.computes(scope, node, base) else None
