"""A ``collections.deque`` that is used as a list is one: Beta 2 has no deques.

Only a local name that is bound once, to a deque of the elements that a list shows, and of which nothing else is asked
than what a list answers alike: the front end's ``pop`` takes the last element, too. A bound (``maxlen``), the left end
(``appendleft``, ``popleft``), and a deque that anything else gets, stay under a finding.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..syntax.codes import LANGUAGE as CODE
from ..syntax.nodes import parents_of

if TYPE_CHECKING:
    from ..analysis.scope import Scope

_METHODS = {"append": 1, "clear": 0, "pop": 0}
"""Methods that lists have, too, and their arguments."""

_READERS = {"len", "list", "tuple"}


def as_list(scope: Scope, name: str, value: ast.expr) -> ast.expr:
    """The list that stands for a deque which ``name`` is bound to; ``value`` itself where it is none, or stays one."""
    if not isinstance(value, ast.Call) or scope.qualified(value.func) != "collections.deque":
        return value
    elements = _elements(scope, value)
    if elements is None or scope.names.assigned[name] != 1 or not scope.module.options.enabled(CODE):
        return value
    parents = parents_of(scope.function)
    uses = (n for n in parents if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load))
    if not all(_is_list_like(scope, use, parents) for use in uses):
        return value
    scope.apply(CODE, value)
    return elements


def _elements(scope: Scope, call: ast.Call) -> ast.List | None:
    """The list that a deque is made of, an empty one where it gets none; ``None`` for other arguments."""
    if call.keywords or len(call.args) > 1:
        return None
    if not call.args:
        empty = ast.copy_location(ast.List([], ast.Load()), call)
        scope.output.given[empty] = "[]"
        return empty
    given = call.args[0]
    shown = isinstance(given, ast.List) and not any(isinstance(e, ast.Starred) for e in given.elts)
    return given if isinstance(given, ast.List) and shown else None


def _is_list_like(scope: Scope, use: ast.Name, parents: dict[ast.AST, ast.AST]) -> bool:
    """Is a deque asked here for what a list gives alike?"""
    parent = parents[use]
    outer = parents.get(parent)
    if _function_around(use, parents) is not scope.function:
        return False
    if isinstance(parent, ast.Attribute) and isinstance(outer, ast.Call) and outer.func is parent:
        return not outer.keywords and len(outer.args) == _METHODS.get(parent.attr)
    if isinstance(parent, ast.Subscript):
        return parent.value is use and isinstance(parent.ctx, ast.Load)
    if isinstance(parent, ast.Call):
        reader = parent.func.id if isinstance(parent.func, ast.Name) else ""
        return reader in _READERS - set(scope.module.symbols.rebound) and parent.args == [use] and not parent.keywords
    return isinstance(parent, ast.For) and parent.iter is use


def _function_around(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> ast.AST:
    around = parents[node]
    while around in parents and not isinstance(around, ast.FunctionDef | ast.Lambda | ast.ClassDef):
        around = parents[around]
    return around
