"""Did Beta 1 trace the body of a loop once? What a loop goes over may have a name, or come from a function with one.

``loop = nl.sequential_range if ordered else nl.affine_range`` and ``for i in loop(n):`` is such a loop on both sides of
the condition, ``nl.affine_range if parallel else nl.static_range`` on one of them, and of a parameter nothing tells.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterable, Iterator
from enum import Enum, auto
from typing import TYPE_CHECKING

from ..syntax.given_values import given_values
from ..syntax.node_index import indexed, of_kinds, walk
from .own_functions import own_function
from .unit_loops import TRACED

if TYPE_CHECKING:
    from ..project.program import Module, Program
    from .scope import Scope


class Tracing(Enum):
    """How often Beta 1 ran the body of a loop: once, as often as the loop counts, or nothing tells which."""

    ONCE = auto()
    EACH = auto()
    UNKNOWN = auto()


_PYTHONS = (
    *(ast.Constant, ast.List, ast.Tuple, ast.Set, ast.Dict),
    *(ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
)
_VIEWS = {"items", "keys", "values"}
_LAST_NAMES = {name.rpartition(".")[2] for name in TRACED}


def tracing(scope: Scope, iterable: ast.expr) -> Tracing:
    """How often Beta 1 ran the body of a loop over ``iterable``."""
    return _of_iterable(scope, iterable, frozenset())


def _of_iterable(scope: Scope, node: ast.expr, seen: frozenset[str]) -> Tracing:
    match node:
        case ast.Call(func=ast.Attribute(attr=name)) if name in _VIEWS:
            return Tracing.EACH
        case ast.Call(func=function):
            return _of_function(scope, function, seen)
        case ast.IfExp(body=first, orelse=second):
            return _joined(_of_iterable(scope, side, seen) for side in (first, second))
        case ast.BoolOp(values=values):
            return _joined(_of_iterable(scope, value, seen) for value in values)
        case ast.Name(id=name) if _is_told(scope, name, seen):
            return _of_name(scope, name, seen, _of_iterable)
    return Tracing.EACH if isinstance(node, _PYTHONS) or not scope.module.program.fact(_keep_loops) else Tracing.UNKNOWN


def _of_function(scope: Scope, node: ast.expr, seen: frozenset[str]) -> Tracing:
    """How often Beta 1 ran the body of a loop over what a function gives."""
    qualified = scope.qualified(node)
    if qualified is not None:
        return Tracing.ONCE if qualified in TRACED else Tracing.EACH
    match node:
        case ast.Name() if own_function(scope, node) == "range" and scope.decorated:
            return Tracing.UNKNOWN if seen else Tracing.ONCE  # nothing documents whether it is so under a name
        case ast.IfExp(body=first, orelse=second):
            return _joined(_of_function(scope, side, seen) for side in (first, second))
        case ast.BoolOp(values=values):
            return _joined(_of_function(scope, value, seen) for value in values)
        case ast.Name(id=name) if _is_told(scope, name, seen):
            return _of_name(scope, name, seen, _of_function)
        case ast.Name(id=name) if hasattr(builtins, name) and scope.means_builtin(name):
            return Tracing.EACH
        case ast.Name(id=name) if name in _parameters(scope.function):
            return Tracing.UNKNOWN
        case ast.Attribute(attr=name) if name in _LAST_NAMES:
            return Tracing.UNKNOWN
    program = scope.module.program
    return Tracing.UNKNOWN if program.fact(_keep_loops) or program.fact(_name_loops) else Tracing.EACH


def _of_name(
    scope: Scope, name: str, seen: frozenset[str], of: Callable[[Scope, ast.expr, frozenset[str]], Tracing]
) -> Tracing:
    return _joined(of(scope, value, seen | {name}) for value in given_values(scope.function, name))


def _is_told(scope: Scope, name: str, seen: frozenset[str]) -> bool:
    """Is a name one of the function's, and no parameter, of which each binding tells what it is?"""
    if name in seen or name in _parameters(scope.function):
        return False
    return 0 < len(given_values(scope.function, name)) == scope.names.assigned[name]


def _joined(found: Iterable[Tracing]) -> Tracing:
    kinds = set(found)
    return kinds.pop() if len(kinds) == 1 else Tracing.UNKNOWN


@indexed
def _parameters(function: ast.FunctionDef) -> frozenset[str]:
    return frozenset(argument.arg for argument in of_kinds(function.args, ast.arg))


def _keep_loops(program: Program) -> bool:
    """Does any module make what Beta 1 traces once elsewhere than at the loop: ``passes = nl.affine_range(n)``?"""
    return any(isinstance(parent, ast.Call) for parent in _elsewhere(program))


def _name_loops(program: Program) -> bool:
    """Does any module name a function of such loops without calling it: ``loop = nl.affine_range``?"""
    return any(not isinstance(parent, ast.Call) for parent in _elsewhere(program))


def _elsewhere(program: Program) -> Iterator[ast.AST]:
    """Calls and names of the functions whose loops Beta 1 traced once, but for the calls that a loop goes over."""
    for module in program.modules.values():
        yield from _elsewhere_in(module)


def _elsewhere_in(module: Module) -> Iterator[ast.AST]:
    nodes = list(walk(module.source.tree))
    headers = {node.iter for node in nodes if isinstance(node, ast.For | ast.comprehension)}
    calls = {node.func: node for node in nodes if isinstance(node, ast.Call)}
    for node in nodes:
        if _means_loop(module, node) and calls.get(node) not in headers:  # type: ignore[call-overload]  # any node
            yield calls.get(node, node)  # type: ignore[call-overload]  # any node


def _means_loop(module: Module, node: ast.AST) -> bool:
    match node:
        case ast.Attribute(attr=name) if name in _LAST_NAMES:
            return True
        case ast.Constant(value=str(name)):
            return name in _LAST_NAMES
        case ast.Name(id=name):
            return name in _LAST_NAMES or module.symbols.host_name(node) in TRACED
    return False
