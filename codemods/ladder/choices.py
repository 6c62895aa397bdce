"""What an expression of kernel code may be: what stands behind names, arms of conditions, and arguments of calls."""

from __future__ import annotations

import ast

from .facts import Facts
from .tensors import bindings, given_to, parameter_default

_DEEPEST = 6


def choices(facts: Facts, node: ast.expr, path: str = "", depth: int = 0) -> list[tuple[str, ast.expr]] | None:
    """All that ``node`` may be, each with its file; ``None`` where something else than these may be, too."""
    path = path or facts.path
    if isinstance(node, ast.IfExp):
        arms = [choices(facts, arm, path, depth + 1) for arm in (node.body, node.orelse)]
        return None if None in arms else [each for arm in arms if arm is not None for each in arm]
    if not isinstance(node, ast.Name) or facts.program.rungs[path].qualified(node):
        return [(path, node)]
    return None if depth > _DEEPEST else _behind_name(facts, path, node, depth)


def _behind_name(facts: Facts, path: str, name: ast.Name, depth: int) -> list[tuple[str, ast.expr]] | None:
    rung = facts.program.rungs[path]
    function = rung.function(name)
    while function is not None and name.id not in bindings(rung, function):
        function = rung.function(function)
    if function is None:
        literal = rung.literal(name)
        return [(path, literal)] if literal is not None else None
    values: list[tuple[str, ast.expr | None]] = [(path, value) for value in bindings(rung, function)[name.id]]
    if isinstance(function, ast.FunctionDef) and name.id in _parameters(function):
        values += _given(facts, path, function, name.id)
    found: list[tuple[str, ast.expr]] = []
    for where, value in values:
        own = choices(facts, value, where, depth + 1) if value is not None else None
        if own is None:
            return None
        found += own
    return found


def _given(facts: Facts, path: str, function: ast.FunctionDef, name: str) -> list[tuple[str, ast.expr | None]]:
    """What the calls give for a parameter; ``None`` stands for what is not seen."""
    calls = facts.program.calls.get(function, ())
    if not calls or function in facts.program.referenced or facts.program.is_kernel(function):
        return [(path, None)]
    default = parameter_default(function, name)
    found: list[tuple[str, ast.expr | None]] = []
    for where, call in calls:
        hidden = any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords)
        given = None if hidden else given_to(function, call, name)
        found.append((where, given) if given is not None else (path, None if hidden else default))
    return found


def _parameters(function: ast.FunctionDef) -> set[str]:
    own = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return {item.arg for item in own}
