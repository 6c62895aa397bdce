"""Numbers of a numpy type, ``np.float32(x)`` and ``np.dtype(np.float32).type(x)``: part of NKI005.

An instruction rounds the number that it gets to float32, so a number that only instructions get is written without
the type; so is a whole number that its type holds, and an infinity. Anything else could be computed with, in that
type, and is left.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set
from typing import TYPE_CHECKING

from ..expr.emission import Refuse
from ..syntax.node_index import walk
from ..syntax.nodes import parents_of
from .dtypes import WEAK_FLOAT, numpy_type, scalar_type

if TYPE_CHECKING:
    from ..analysis.scope import Scope

_WHOLE = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-(2**15), 2**15 - 1), "uint16": (0, 2**16 - 1)}
_WHOLE |= {
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "float32": (-(2**24), 2**24),
    "float16": (-2048, 2048),
}

COMPUTE = frozenset({"nl.add", "nl.subtract", "nl.multiply", "nl.maximum", "nl.minimum"})
"""Functions of two tiles, or of a tile and a number, whose type is part of the result's."""


def typed_number(scope: Scope, node: ast.Call, code: str) -> str | None:
    """A number of a numpy type as Beta 2 writes it; ``None`` for any other call."""
    dtype = numpy_type(scope, node)
    if dtype is None:
        return None
    if len(node.args) != 1 or node.keywords or not _only_instructions_get(scope, node, dtype):
        raise Refuse(
            node,
            code,
            f"a number of type np.{dtype}" if dtype in _WHOLE else "a number whose type only a trace tells",
            "write the number, rounded to that type",
        )
    scope.apply(code, node)
    return scope.evaluator.render(scope, node.args[0])


def _only_instructions_get(scope: Scope, node: ast.Call, dtype: str) -> bool:
    """Does a number come to instructions only, which round it as its type does?"""
    number = node.args[0]
    if dtype != "float32" and not _is_held(number, dtype):
        return False
    of_one_type = dtype == "float32" and scalar_type(scope, number) == WEAK_FLOAT  # a float of Python's counts as it
    functions = COMPUTE if of_one_type else frozenset[str]()
    functions |= {"nl.full"} if dtype == "float32" and _is_infinite(scope, number) else set()
    parents = parents_of(scope.function)
    return all(is_operand(scope, use, parents, dtype, functions) for use in _uses(scope, node, parents))


def _is_infinite(scope: Scope, node: ast.expr) -> bool:
    number = node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else node
    return scope.qualified(number) in ("np.inf", "math.inf")


def _is_held(node: ast.expr, dtype: str) -> bool:
    low, high = _WHOLE.get(dtype, (0, -1))
    sign, number = (-1, node.operand) if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else (1, node)
    return isinstance(number, ast.Constant) and type(number.value) is int and low <= sign * number.value <= high


def _uses(scope: Scope, node: ast.Call, parents: dict[ast.AST, ast.AST]) -> Iterator[ast.AST]:
    """Where a number is used: itself, or the name that one assignment gives it."""
    statement = parents.get(node)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        yield node
        return
    target = statement.targets[0]
    if not isinstance(target, ast.Name) or scope.names.assigned[target.id] != 1:
        yield node
        return
    for use in walk(scope.function):
        if isinstance(use, ast.Name) and use.id == target.id and isinstance(use.ctx, ast.Load):
            yield use


def is_operand(scope: Scope, use: ast.AST, parents: dict[ast.AST, ast.AST], dtype: str, functions: Set[str]) -> bool:
    """Is a number, or its negative, the argument of an instruction, or of one of some functions?"""
    parent = parents.get(use)
    if isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.USub) and "float" in dtype:
        use, parent = parent, parents.get(parent)
    call = parents.get(parent) if isinstance(parent, ast.keyword) else parent
    if not isinstance(call, ast.Call) or use is call.func:
        return False
    name = scope.qualified(call.func) or ""
    return name.startswith("nisa.") or name in functions
