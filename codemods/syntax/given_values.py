"""What assignments, loops and defaults give to names: the values themselves, or what holds them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .node_index import indexed, of_kinds, walk


@indexed
def given_values(owner: ast.AST, name: str) -> tuple[ast.expr, ...]:
    """All that assignments, loops and defaults of parameters give to ``name``: itself, or what holds it."""
    return tuple(value for bound, value in _bindings(owner) if bound == name)


@indexed
def _bindings(owner: ast.AST) -> tuple[tuple[str, ast.expr], ...]:
    """Names, and what each may be given by assignments, loops and defaults of parameters."""
    found: list[tuple[str, ast.expr]] = []
    for node in walk(owner):
        pairs: list[tuple[ast.expr, ast.expr]] = []
        if isinstance(node, ast.Assign):
            pairs = [pair for target in node.targets for pair in _pairs(target, node.value)]
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            pairs = [(node.target, node.value)]
        elif isinstance(node, ast.For):
            pairs = [(node.target, node.iter)]
        elif isinstance(node, ast.arguments):
            found += [(argument.arg, default) for argument, default in _defaults(node)]
        found += [(name, value) for target, value in pairs for name in sorted(_bound(target))]
    return tuple(found)


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """What an assignment gives to what."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        return list(zip(target.elts, value.elts, strict=True))
    return [(target, value)]


def _bound(target: ast.expr) -> set[str]:
    return {n.id for n in of_kinds(target, ast.Name) if isinstance(n.ctx, ast.Store)}


def _defaults(arguments: ast.arguments) -> Iterator[tuple[ast.arg, ast.expr]]:
    positional = [*arguments.posonlyargs, *arguments.args]
    yield from zip(positional[len(positional) - len(arguments.defaults) :], arguments.defaults, strict=True)
    yield from ((a, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d is not None)
