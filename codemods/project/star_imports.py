"""``from neuronxcc.nki.language import *`` as the import of the names that a module reads.

The table of Beta 1 says what the star gives. Two things it does not tell: whether names that Python has, too (``min``,
``abs``), mean NKI's, and what other modules take from one that reads nothing of it.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from dataclasses import dataclass

from nki_migrate.runtime.spec import beta1

from ..model import Finding
from ..syntax.codes import NAMESPACE as CODE
from ..syntax.name_scopes import Names, is_star, names_of
from ..syntax.names import canonical
from ..syntax.node_index import of_kinds
from ..syntax.source import Source


@dataclass(frozen=True)
class Named:
    """A module's text with ``count`` star imports of NKI as imports of names, or why one stays: ``left``."""

    text: str
    count: int = 0
    left: Finding | None = None


def named(source: Source) -> Named:
    """The module with its star imports of NKI written out. No line moves."""
    stars = [*_stars(source.tree)]
    read = _read(source.tree) if stars else set()
    text, count = source.text, 0
    for statement in reversed(stars):  # of two that give a name the last one counts
        root = canonical(statement.module or "")
        names = sorted(name for name in read if f"{root}.{name}" in beta1.SYMBOLS)
        problem = _problem(statement, names)
        if problem is not None:
            return Named(source.text, left=problem)
        start, end = source.span(statement)
        text = f"{text[:start]}from {statement.module} import {', '.join(names)}{text[end:]}"
        read -= set(names)
        count += 1
    return Named(text, count)


def _stars(tree: ast.Module) -> Iterator[ast.ImportFrom]:
    """The star imports of modules of NKI, in the order of the source."""
    for node in of_kinds(tree, ast.ImportFrom):
        if is_star(node) and (node.module or "") in beta1.MODULES:
            yield node


def _read(tree: ast.Module) -> set[str]:
    """The names that a module reads and that nothing in it binds where they are read."""
    scopes = names_of(tree, lambda module: None)
    loads = [node for node in of_kinds(tree, ast.Name) if isinstance(node.ctx, ast.Load)]
    return {node.id for node in loads if node in scopes and not _is_bound(scopes[node], node.id)}


def _is_bound(scope: Names | None, name: str) -> bool:
    while scope is not None and name not in scope.bound:
        scope = scope.outer
    return scope is not None


def _problem(statement: ast.ImportFrom, names: list[str]) -> Finding | None:
    """What a star import does not tell."""
    python = [name for name in names if hasattr(builtins, name)]
    message, help = (
        f"nothing here reads what 'from {statement.module} import *' gives",
        "import by name what others take",
    )
    if python:
        message = f"'from {statement.module} import *' does not tell whether '{python[0]}' is Python's or NKI's"
        help = "import by name what is read"
    place = statement.lineno, statement.col_offset + 1
    is_told = names and not python
    return None if is_told else Finding(*place, CODE, "manual", f"{message}; this module is left alone", help)
