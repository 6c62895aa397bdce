"""What the names of a function are bound to: by its own statements, and by the calls that give its parameters."""

from __future__ import annotations

import ast

from ..syntax.node_index import of_kinds
from .program import Program
from .rung import Rung

Bound = tuple[str, "ast.expr | None"]
"""A value with its file; ``None`` for what is not seen."""


def behind_name(program: Program, path: str, name: ast.Name) -> list[Bound] | None:
    """All that ``name`` of the file ``path`` is bound to where it stands; ``None`` for a name of no function."""
    rung = program.rungs[path]
    function = binder(rung, name)
    if function is None:
        return None
    values: list[Bound] = [(path, value) for value in bindings(rung, function)[name.id]]
    if isinstance(function, ast.FunctionDef) and name.id in parameters(function):
        values += _given(program, path, function, name.id)
    return values


def binder(rung: Rung, name: ast.Name) -> ast.AST | None:
    """The function whose name this is: the innermost one that binds it."""
    function = rung.function(name)
    while function is not None and name.id not in bindings(rung, function):
        function = rung.function(function)
    return function


def _given(program: Program, path: str, function: ast.FunctionDef, name: str) -> list[Bound]:
    """What the calls give for a parameter; ``None`` stands for what is not seen."""
    calls = program.calls.get(function, ())
    if not calls or function in program.referenced or program.is_kernel(function):
        return [(path, None)]
    default = parameter_default(function, name)
    found: list[Bound] = []
    for where, call in calls:
        hidden = any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords)
        given = None if hidden else given_to(function, call, name)
        found.append((where, given) if given is not None else (path, None if hidden else default))
    return found


def given_to(function: ast.FunctionDef, call: ast.Call, name: str) -> ast.expr | None:
    """What a call gives for a parameter; ``None`` where that is not plain."""
    if any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords):
        return None
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    order = [item.arg for item in (*function.args.posonlyargs, *function.args.args)]
    at = order.index(name) if name in order else len(call.args)
    return call.args[at] if at < len(call.args) else None


def parameter_default(function: ast.FunctionDef, name: str) -> ast.expr | None:
    """The default of a parameter, if it has one."""
    own = [*function.args.posonlyargs, *function.args.args]
    pairs = [*zip(own[len(own) - len(function.args.defaults) :], function.args.defaults, strict=True)]
    pairs += [(a, d) for a, d in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True) if d is not None]
    return next((default for parameter, default in pairs if parameter.arg == name), None)


def bindings(rung: Rung, function: ast.AST) -> dict[str, list[ast.expr | None]]:
    """What each name of a function is bound to; ``None`` for a binding that is no plain assignment."""
    cache: dict[ast.AST, dict[str, list[ast.expr | None]]] = rung.__dict__.setdefault("_bindings", {})
    if function not in cache:
        found: dict[str, list[ast.expr | None]] = {}
        cache[function] = found
        for node in of_kinds(function, ast.Name):
            if not isinstance(node.ctx, ast.Load) and rung.function(node) is function:
                found.setdefault(node.id, []).append(_assigned(rung, node))
        for parameter in parameters(function):
            found.setdefault(parameter, [])
    return cache[function]


def parameters(function: ast.AST) -> list[str]:
    """The names of the parameters of a function; none for another node."""
    arguments = function.args if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) else None
    return (
        [] if arguments is None else [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    )


def _assigned(rung: Rung, name: ast.Name) -> ast.expr | None:
    statement = rung.parents[name]
    if isinstance(statement, ast.Assign) and name in statement.targets:
        return statement.value
    if isinstance(statement, ast.AnnAssign) and statement.target is name:
        return statement.value
    return None
