"""What the names of a file mean where they stand: the imports that each block sees, by whatever name."""

from __future__ import annotations

import ast
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, field
from typing import TypeGuard

from .node_index import children, of_kinds

OTHER = "?"
_STAND_IN = ""
"""The path of what a name means where the module that it is imported from is not installed."""
Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Block = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef
Star = tuple[str, Container[str]]
Stars = Callable[[str], Star | None]
"""The module that the names of ``from MODULE import *`` belong to, and these names; ``None`` for a foreign module."""


@dataclass
class Names:
    """The names that one block (module, function, class) binds: each with the dotted path of each import, or ``?``.

    ``stars`` are the modules of which it imports everything, and the names that they offer.
    """

    block: Block
    outer: Names | None
    bound: dict[str, set[str]] = field(default_factory=dict)
    stars: list[Star] = field(default_factory=list)

    def bind(self, name: str, path: str = OTHER) -> None:
        self.bound.setdefault(name, set()).add(path)

    def of(self, name: str) -> set[str]:
        """The paths that ``name`` may have where this block reads it; ``{"?"}`` for anything that is no import.

        What stands in for a module that is not installed does not count beside the import.
        """
        scope: Names | None = self
        first = True
        while scope is not None:
            if (first or not isinstance(scope.block, ast.ClassDef)) and name in scope.bound:
                paths = scope.bound[name]
                return paths - {_STAND_IN} or {OTHER} if _STAND_IN in paths else paths
            for module, names in scope.stars if scope.outer is None else ():
                if name in names:
                    return {f"{module}.{name}"}
            scope, first = scope.outer, False
        return {OTHER}


def names_of(tree: ast.Module, stars: Stars) -> dict[ast.AST, Names]:
    """For each node of a module the block whose names it sees; ``stars`` says what ``from MODULE import *`` gives."""
    found: dict[ast.AST, Names] = {}
    _walk(tree, Names(tree, None), found, stars, frozenset(_stand_ins(tree)))
    return found


def _stand_ins(tree: ast.Module) -> Iterator[ast.AST]:
    """What binds a name where a module is not installed: to ``None``, or in a handler of the import."""
    for node in of_kinds(tree, ast.Try, ast.Assign):
        if isinstance(node, ast.Try):
            yield from _handled(node)
        elif isinstance(node.value, ast.Constant) and node.value.value is None:
            yield from (target for target in node.targets if isinstance(target, ast.Name))


def _handled(node: ast.Try) -> Iterator[ast.AST]:
    """What the handlers of a ``try`` bind to the names that its body imports."""
    statements = [s for s in node.body if isinstance(s, (ast.Import, ast.ImportFrom))]
    names = {name for statement in statements for name, _ in imported(statement)}
    for inside in (inside for handler in node.handlers for inside in ast.walk(handler) if names):
        is_definition = isinstance(inside, (ast.FunctionDef, ast.ClassDef)) and inside.name in names
        is_store = isinstance(inside, ast.Name) and isinstance(inside.ctx, ast.Store) and inside.id in names
        if is_definition or is_store:
            yield inside


def _walk(
    node: ast.AST, names: Names, found: dict[ast.AST, Names], stars: Stars, stand_ins: frozenset[ast.AST]
) -> None:
    found[node] = names
    _bind(node, names, stars, stand_ins)
    below = children(node)
    if not below:
        return
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        inner = Names(node, names)
        for parameter in _parameters(node.args):
            inner.bind(parameter.arg)
        for child in below:
            own = child in _body(node) or isinstance(child, ast.arguments)
            if isinstance(child, ast.arguments):
                _walk_arguments(child, names, inner, found, stars, stand_ins)
            else:
                _walk(child, inner if own else names, found, stars, stand_ins)
        return
    if isinstance(node, ast.ClassDef):
        inner = Names(node, names)
        for child in below:
            _walk(child, inner if child in node.body else names, found, stars, stand_ins)
        return
    for child in below:
        _walk(child, names, found, stars, stand_ins)


def _walk_arguments(
    node: ast.arguments,
    names: Names,
    inner: Names,
    found: dict[ast.AST, Names],
    stars: Stars,
    stand_ins: frozenset[ast.AST],
) -> None:
    """Annotations and defaults see the names outside of the function."""
    found[node] = inner
    for child in children(node):
        _walk(child, names, found, stars, stand_ins)


def _body(node: Function) -> list[ast.AST]:
    return [node.body] if isinstance(node, ast.Lambda) else list(node.body)


def _parameters(arguments: ast.arguments) -> Iterator[ast.arg]:
    yield from (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    yield from (each for each in (arguments.vararg, arguments.kwarg) if each is not None)


def _bind(node: ast.AST, names: Names, stars: Stars, stand_ins: frozenset[ast.AST]) -> None:
    path = _STAND_IN if node in stand_ins else OTHER
    if isinstance(node, ast.Name):
        if not isinstance(node.ctx, ast.Load):
            names.bind(node.id, path)
    elif isinstance(node, ast.Import | ast.ImportFrom):
        for name, path in imported(node):
            names.bind(name, path)
        star = stars(node.module or "") if is_star(node) else None
        names.stars += [star] if star is not None else []
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler)) and node.name:
        names.bind(node.name, path)


def imported(statement: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
    """The names that an import binds, each with its dotted path; :data:`OTHER` for what a relative import gives."""
    for alias in statement.names:
        first = alias.name.split(".")[0]
        if isinstance(statement, ast.Import):
            yield (alias.asname, alias.name) if alias.asname else (first, first)
        elif alias.name != "*":
            yield alias.asname or alias.name, OTHER if statement.level else f"{statement.module}.{alias.name}"


def is_star(statement: ast.Import | ast.ImportFrom) -> TypeGuard[ast.ImportFrom]:
    """Does a statement import everything of a module, by its whole name?"""
    is_absolute = isinstance(statement, ast.ImportFrom) and not statement.level
    return is_absolute and any(alias.name == "*" for alias in statement.names)


def dotted(node: ast.AST) -> list[str] | None:
    """The parts of ``a.b.c``; ``None`` for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return [node.id, *reversed(parts)]
