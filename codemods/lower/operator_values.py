"""Functions of NKI and numpy that a name or a parameter stands for, and that only instructions take, as their operator.

``fn = nl.relu if flag else nl.gelu`` in front of ``nisa.activation(op=fn, ...)`` names tokens in Beta 2. There nothing
else can be done with them: a name that is called, or compared, is left to a finding.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..analysis.facts import Names
from ..analysis.scope import Scope
from ..expr.tables import activation_token, is_function, operator_token, parameters
from ..project.program import Module
from ..render.expressions import render
from ..rules.operator_tokens import PARAMETERS, is_activation
from ..syntax.codes import OPERATOR_TOKENS as CODE
from ..syntax.node_index import walk
from ..syntax.nodes import assignment_counts, by_parameter

_Seen = frozenset[tuple[ast.FunctionDef, str]]


def operator_value(scope: Scope, node: ast.expr, name: str, there: Scope | None = None) -> str:
    """Text of a function, or of a choice of functions, that goes to ``name`` in ``there`` (where it stands itself).

    Empty for anything else, and where anything but an instruction takes what ``name`` stands for.
    """
    roles = _roles(there or scope, name, frozenset()) if _functions(scope, node) else None
    return operator_choice(scope, node, roles) if roles else ""


def operator_choice(scope: Scope, node: ast.expr, roles: set[bool]) -> str:
    """Text of a function, or of a choice of functions, as tokens; empty where they have none for all ``roles``.

    A role is whether an instruction takes it for an activation function.
    """
    texts: list[tuple[ast.AST, str]] = []
    for leaf in _functions(scope, node):
        qualified = scope.qualified(leaf) or ""
        tokens = {activation_token(qualified) if role else operator_token(qualified) for role in roles}
        token = tokens.pop()
        if tokens or token is None:
            return ""
        texts.append((leaf, f"{scope.nl}.{token}"))
    if any(text != scope.source.segment(leaf) for leaf, text in texts):
        scope.apply(CODE, node)
    chosen = {leaf for leaf, _ in texts}
    others = [part for part in (*_leaves(node), *_tests(node)) if part not in chosen]
    return scope.source.segment(node, [*texts, *((part, render(scope, part)) for part in others)]) if texts else ""


def operator_argument(scope: Scope, home: Module, function: ast.FunctionDef, parameter: str, node: ast.expr) -> str:
    """Text of a function that a call passes to a parameter of ``function``, as :func:`operator_value` gives it."""
    return operator_value(scope, node, parameter, _scope_of(home, function))


def is_operator(scope: Scope, name: str) -> bool:
    """Do only instructions take what ``name`` stands for, all as an operator?"""
    return bool(_roles(scope, name, frozenset()))


def _functions(scope: Scope, node: ast.expr) -> list[ast.expr]:
    """The functions of NKI and numpy among what an expression may give."""
    names = ((leaf, scope.qualified(leaf) or "") for leaf in _leaves(node))
    return [leaf for leaf, name in names if is_function(name) or operator_token(name) or activation_token(name)]


def _scope_of(home: Module, function: ast.FunctionDef) -> Scope:
    return Scope(home, function, False, names=Names(assigned=assignment_counts(function)))


def _leaves(node: ast.expr) -> Iterator[ast.expr]:
    """What an expression gives: itself, or the sides of a condition."""
    for side in (node.body, node.orelse) if isinstance(node, ast.IfExp) else ():
        yield from _leaves(side)
    if not isinstance(node, ast.IfExp):
        yield node


def _tests(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.IfExp):
        yield node.test
        yield from _tests(node.body)
        yield from _tests(node.orelse)


def _roles(scope: Scope, name: str, seen: _Seen) -> set[bool] | None:
    """For what instructions take ``name``: an activation function (true), another operator (false), or both.

    ``None`` where anything else is done with it, but for asking whether it is ``None``.
    """
    if (scope.function, name) in seen:
        return set()
    seen |= {(scope.function, name)}
    nodes = list(walk(scope.function))
    left = {node for node in nodes if _is_load(node, name)}
    roles: set[bool] = set()
    for node in nodes:
        if isinstance(node, ast.Compare) and all(isinstance(op, ast.Is | ast.IsNot) for op in node.ops):
            nothing = all(isinstance(c, ast.Constant) and c.value is None for c in node.comparators)
            left -= {node.left} if nothing else set()
        for called, parameter, given in _arguments(scope, node):
            if _is_load(given, name) and parameter in PARAMETERS:
                roles.add(is_activation(called, parameter))
                left.discard(given)
        for there, parameter, given in _handed(scope, node):
            if _is_load(given, name) and parameter:
                handed = _roles(there, parameter, seen)
                if handed is None:
                    return None
                roles |= handed
                left.discard(given)
    return None if left else roles


def _is_load(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)


def _arguments(scope: Scope, node: ast.AST) -> Iterator[tuple[str, str, ast.expr]]:
    """The arguments of the call of an instruction, each with the instruction and its parameter."""
    called = scope.qualified(node.func) if isinstance(node, ast.Call) else None
    if isinstance(node, ast.Call) and called is not None and called.startswith("nisa."):
        yield from ((called, parameter, given) for parameter, given in zip(parameters(called), node.args, strict=False))
        yield from ((called, keyword.arg, keyword.value) for keyword in node.keywords if keyword.arg is not None)


def _handed(scope: Scope, node: ast.AST) -> Iterator[tuple[Scope, str, ast.expr]]:
    """The arguments of the call of a function that is at hand, each with that function and its parameter."""
    if not isinstance(node, ast.Call):
        return
    module = scope.module
    own = module.symbols.functions.get(node.func.id) if isinstance(node.func, ast.Name) else None
    home, function = (module, own) if own is not None else module.program.function(module, node.func) or (module, None)
    if function is not None:
        yield from ((_scope_of(home, function), p, given) for p, _, given in by_parameter(function, node))
