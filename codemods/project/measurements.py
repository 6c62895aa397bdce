"""Tensors of which only the shape and the type matter: arguments of kernels that are measured.

``nki.benchmark`` and ``nki.profile`` run a kernel on inputs of their own ("does not use the actual inputs passed into
the benchmarked function").

Source: nki.benchmark and nki.profile of the 2.26.1 stubs, their last notes.
"""

from __future__ import annotations

import ast

from ..syntax.node_index import of_kinds, walk
from ..syntax.nodes import parents_of
from .program import Module

MEASURING = {"nki.benchmark", "nki.profile"}


def is_only_measured(module: Module, node: ast.expr) -> bool:
    """Do nothing but calls of measured kernels get a value?

    It is an argument of such a call, or all that a name holds which is read for nothing else.
    """
    parents = parents_of(module.source.tree)
    if _is_argument(module, node, parents):
        return True
    statement = parents[node]
    if not (isinstance(statement, ast.Assign) and len(statement.targets) == 1 and _is_own(statement, parents)):
        return False
    target = statement.targets[0]
    names = [n for n in parents if isinstance(n, ast.Name) and isinstance(target, ast.Name) and n.id == target.id]
    home = _scope(target, parents)
    read = [n for n in names if n is not target and _scope(n, parents) is home]
    return bool(read) and all(_is_argument(module, n, parents) for n in read)


def _scope(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> ast.AST:
    """The innermost function around a name that binds it; the module where none does."""
    around = node
    while around in parents:
        around = parents[around]
        if isinstance(around, ast.FunctionDef | ast.Lambda) and isinstance(node, ast.Name) and _binds(around, node.id):
            return around
    return around


def _binds(function: ast.FunctionDef | ast.Lambda, name: str) -> bool:
    arguments = {n.arg for n in of_kinds(function.args, ast.arg)}
    body = function.body if isinstance(function, ast.FunctionDef) else []
    nodes = [n for statement in body for n in walk(statement)]
    return name in arguments or any(
        isinstance(n, ast.Name) and n.id == name and not isinstance(n.ctx, ast.Load) for n in nodes
    )


def _is_argument(module: Module, node: ast.expr, parents: dict[ast.AST, ast.AST]) -> bool:
    """Is a value an argument of a call of a measured kernel?"""
    parent = parents[node]
    call = parents[parent] if isinstance(parent, ast.keyword) else parent
    if not isinstance(call, ast.Call) or call.func is node:
        return False
    called = call.func.value if isinstance(call.func, ast.Subscript) else call.func
    return isinstance(called, ast.Name) and _is_measured(module, called.id)


def _is_measured(module: Module, name: str) -> bool:
    """Is a name a kernel under a measuring decorator, or only ever one that a measurement was made of?"""
    bound = [n for n in of_kinds(module.source.tree, ast.Name) if n.id == name]
    stored = [n for n in bound if not isinstance(n.ctx, ast.Load)]
    if any(isinstance(n, ast.arg) and n.arg == name for n in walk(module.source.tree)):
        return False
    function = module.symbols.functions.get(name)
    if function is not None:
        return not stored and any(module.symbols.decorator(d) in MEASURING for d in function.decorator_list)
    assignments = list(of_kinds(module.source.tree, ast.Assign))
    values = [n.value for n in assignments for t in n.targets if t in stored]
    return bool(values) and len(values) == len(stored) and all(_measures(module, value) for value in values)


def _measures(module: Module, value: ast.expr) -> bool:
    """``nki.benchmark(kernel)`` or ``nki.benchmark(warmup=5)(kernel)``."""
    if not isinstance(value, ast.Call) or not value.args:
        return False
    options = value.func if isinstance(value.func, ast.Call) and not value.func.args else value
    return module.symbols.host_name(options.func) in MEASURING


def _is_own(statement: ast.stmt, parents: dict[ast.AST, ast.AST]) -> bool:
    """Can no other module read what a statement assigns: is it in a function, or what only a script runs?"""
    node: ast.AST = statement
    while node in parents:
        node = parents[node]
        if isinstance(node, ast.FunctionDef):
            return True
        if isinstance(node, ast.If) and ast.unparse(node.test) == "__name__ == '__main__'":
            return True
    return False
