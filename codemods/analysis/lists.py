"""Which expressions may be lists, and which statements grow one for all names that it has?"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..syntax.node_index import indexed, of_kinds
from ..syntax.nodes import by_parameter, is_name, named_parameters

if TYPE_CHECKING:
    from ..project.program import Module

_Names = frozenset[tuple[ast.FunctionDef, str]]


def extends_list(module: Module, function: ast.FunctionDef, statement: ast.AugAssign) -> bool:
    """Does ``rows += [row]`` grow a list for all names that it has? Beta 2 makes another list for this one."""
    sides = (statement.target, statement.value)
    return isinstance(statement.op, ast.Add) and any(is_list(module, function, side) for side in sides)


def is_list(module: Module, function: ast.FunctionDef, node: ast.expr, seen: _Names = frozenset()) -> bool:
    """May an expression be a list that the function makes, or that a call gives it?"""
    match node:
        case ast.List() | ast.ListComp() | ast.Call(func=ast.Name(id="list" | "sorted")):
            return True
        case ast.BinOp(op=ast.Add() | ast.Mult(), left=left, right=right):
            return is_list(module, function, left, seen) or is_list(module, function, right, seen)
        case ast.Subscript(value=value, slice=ast.Slice()):
            return is_list(module, function, value, seen)
        case ast.Name(id=name) if (function, name) not in seen:
            sources = [*((module, function, v) for v in assigned_to(function, name)), *_given(module, function, name)]
            return any(is_list(*source, seen | {(function, name)}) for source in sources)
    return False


def _given(module: Module, function: ast.FunctionDef, name: str) -> Iterator[tuple[Module, ast.FunctionDef, ast.expr]]:
    """What calls of a function give a parameter, each with the module and the function that calls."""
    if name not in {argument.arg for argument in named_parameters(function)}:
        return
    for home in module.program.modules.values():
        for caller in of_kinds(home.source.tree, ast.FunctionDef):
            for call in of_kinds(caller, ast.Call):
                own = home is module and is_name(call.func, function.name)
                if own or (module.program.function(home, call.func) or (None, None))[1] is function:
                    yield from ((home, caller, v) for p, _, v in by_parameter(function, call) if p == name)


@indexed
def assigned_to(function: ast.FunctionDef, name: str) -> tuple[ast.expr, ...]:
    """What a function assigns to a name."""
    assigned = of_kinds(function, ast.Assign)
    return tuple(s.value for s in assigned if any(isinstance(t, ast.Name) and t.id == name for t in s.targets))
