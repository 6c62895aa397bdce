"""Is an expression a Python number, or may it be a tensor or a slice? Lists and dictionaries hold any of them."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import TYPE_CHECKING

from ..expr.values import ColumnOrNumber, Constant, Container, Hbm, Python, Several, Slice, Tensors, Tile, Value
from ..syntax.given_values import given_values
from ..syntax.node_index import children, indexed, of_kinds, walk

if TYPE_CHECKING:
    from .scope import Scope

TENSOR_ATTRIBUTES = {"shape", "dtype", "ndim", "shape_2d"}
_TELLS = {"len", "isinstance", "hasattr", "str", "repr", "type", "id", "int", "float", "bool", "range"}
"""Functions of Python that take anything, and never give a tensor."""
_MEMBERS: dict[type[ast.AST], Callable[[ast.AST], ast.expr]] = {
    ast.keyword: attrgetter("value"),
    ast.comprehension: attrgetter("iter"),
}
_MAY_HOLD_TENSORS = Hbm | Tile | Tensors | Several | Constant | Slice | Container | ColumnOrNumber
_DISPLAYS = ast.List | ast.Tuple | ast.Dict | ast.ListComp | ast.DictComp
_GROWS = {"append", "extend", "insert", "setdefault", "update"}


def is_number(scope: Scope, value: ast.expr) -> bool:
    """Is an expression made of Python values alone, and of the shapes of tensors?"""
    return all(isinstance(scope.names.env.get(name), Python | None) for name in names_taken(value))


def reads_tensor(scope: Scope, value: ast.expr) -> bool:
    """Does an expression take anything of a tensor but its shape and its type?"""
    return any(isinstance(scope.names.env.get(name), Hbm | Tile) for name in names_taken(value))


def names_taken(value: ast.expr) -> Iterator[str]:
    """The names of an expression, but for those of which it takes the shape or the type alone."""
    pending: list[ast.AST] = [value]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Name):
            yield node.id
        if not isinstance(node, ast.Attribute) or node.attr not in TENSOR_ATTRIBUTES:
            pending += children(node)


def may_be_no_number(scope: Scope, node: ast.expr, seen: frozenset[str] = frozenset()) -> bool:
    """May an expression give a tensor or a slice, or something that holds one? ``seen`` are names that are judged."""
    match node:
        case ast.Constant():
            return node.value is Ellipsis
        case ast.JoinedStr() | ast.Compare() | ast.UnaryOp(op=ast.Not()):
            return False
        case ast.Name():
            return _name_may_be(scope, node.id, seen)
        case ast.Attribute():
            return node.attr not in TENSOR_ATTRIBUTES and may_be_no_number(scope, node.value, seen)
        case ast.Subscript(slice=ast.Tuple(elts=elements)) if any(isinstance(e, ast.Slice) for e in elements):
            return True  # no list takes such a subscript
        case ast.Subscript():
            return may_be_no_number(scope, node.value, seen)
        case ast.IfExp():
            return may_be_no_number(scope, node.body, seen) or may_be_no_number(scope, node.orelse, seen)
        case ast.Call(func=ast.Name(id=name)) if name in _TELLS and name not in scope.module.symbols.functions:
            return False
        case ast.Call(func=function) if scope.qualified(function) == "nl.ds" or ast.unparse(function) == "slice":
            return True
    parts = (_MEMBERS[type(n)](n) if type(n) in _MEMBERS else n for n in children(node))
    return any(isinstance(child, ast.expr) and may_be_no_number(scope, child, seen) for child in parts)


def may_give_tensor(scope: Scope, node: ast.expr) -> bool:
    """Is an expression a call, of a function that is not at hand, that gets a tensor?"""
    if not isinstance(node, ast.Call) or scope.evaluator.is_pure(scope, node):
        return False
    if (scope.qualified(node.func) or "").partition(".")[0] in ("nl", "nisa", "ncc", "nccl", "nki", "math", "np"):
        return False
    if isinstance(node.func, ast.Name) and node.func.id not in scope.names.env and hasattr(builtins, node.func.id):
        return False
    given = [*node.args, *(keyword.value for keyword in node.keywords)]
    return any(scope.evaluator.operand(scope, argument) is not None for argument in given)


def may_be_result(scope: Scope, node: ast.expr, seen: frozenset[str] = frozenset()) -> bool:
    """Is an expression what a function gives, under a name or not, that may give a tensor without getting one?"""
    match node:
        case ast.Call():
            return not scope.evaluator.is_pure(scope, node)
        case ast.Name(id=name) if name not in seen:
            known = scope.names.env.get(name)
            told = type(known) is not Python and known is not None
            given = () if told else given_values(scope.function, name)
            return any(isinstance(v, ast.Call | ast.Name) and may_be_result(scope, v, seen | {name}) for v in given)
    return False


def is_container(scope: Scope, node: ast.expr) -> bool:
    """Is an expression a list, tuple or dictionary that the function makes?"""
    made = [node]
    for statement in walk(scope.function) if isinstance(node, ast.Name) else ():
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            made += [statement.value for target in targets if ast.unparse(target) == ast.unparse(node)]
    return any(isinstance(value, _DISPLAYS) for value in made)


def _name_may_be(scope: Scope, name: str, seen: frozenset[str]) -> bool:
    value = scope.names.env.get(name)
    if name in seen:
        return False
    if type(value) is Value or isinstance(value, _MAY_HOLD_TENSORS):
        return True
    within = seen | {name}
    alias = scope.sizes.definitions.get(name, "")
    if alias.isidentifier() and _name_may_be(scope, alias, within):
        return True
    return any(
        _is_unbound(scope, stored) or may_be_no_number(scope, stored, within)
        for stored in _stored(scope.function, name)
    )


def _is_unbound(scope: Scope, node: ast.expr) -> bool:
    """Has an expression a name that the function binds further down?"""
    return any(
        isinstance(n, ast.Name) and n.id in scope.names.assigned and n.id not in scope.names.env for n in walk(node)
    )


@indexed
def _stored(function: ast.FunctionDef, name: str) -> tuple[ast.expr, ...]:
    """What a function puts into the list or dictionary ``name``, wherever it does so."""
    stored: list[ast.expr] = []
    for node in of_kinds(function, ast.Call, ast.Assign, ast.AugAssign):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _GROWS:
            if _is_in(node.func.value, name):
                stored += (*node.args, *(keyword.value for keyword in node.keywords))
        elif isinstance(node, ast.Assign):
            if any(isinstance(target, ast.Subscript) and _is_in(target, name) for target in node.targets):
                stored.append(node.value)
        elif isinstance(node, ast.AugAssign) and _is_in(node.target, name):
            stored.append(node.value)
    return tuple(stored)


def _is_in(node: ast.expr, name: str) -> bool:
    """Is an expression ``name``, or a part of it?"""
    while isinstance(node, ast.Subscript):
        node = node.value
    return isinstance(node, ast.Name) and node.id == name
