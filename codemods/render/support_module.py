"""The text of the module that has the functions which rewritten files of a package import (``render/support``)."""

from __future__ import annotations

import ast
from collections.abc import Collection

from nki_migrate.runtime.spec.support_module import MARK
from nki_migrate.runtime.spec.versions import DEFAULT, Version

from ..syntax.names import imports
from .support_texts import ALIASES, DEFINITIONS, Definition, closure

NAME = "nki_support"

_DEFINITION = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_HEAD = f'''"""What these kernels need and NKI does not have.

{MARK}, and adds to it what further kernels need.
"""
'''


def extended(names: Collection[str], text: str = "", target: Version | str = DEFAULT) -> str:
    """The module ``text``, empty or as it was written before, with the functions ``names`` and all that they call.

    They are those of the version ``target``.

    The functions stand in the order of their names. What the module has, a person's additions too, stays as it is.
    """
    text = text or _HEAD
    for definition in closure(names):
        text = _with_definition(text, definition, target)
    return _with_imports(text, {alias for definition in closure(names) for alias in definition.aliases})


def is_ours(text: str, target: Version | str = DEFAULT) -> bool:
    """Did the tool write a module, and does it still have these functions as they are written for ``target``?"""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    bound = _bound(tree)
    return (
        MARK in (ast.get_docstring(tree) or "")
        and all(_is_as_written(node, target) for node in tree.body)
        and all(bound.get(alias, path) == path for alias, path in ALIASES.items())
        and not (_stored(tree) & {*DEFINITIONS, "*"})
    )


def _is_as_written(node: ast.stmt, target: Version | str) -> bool:
    """Is a statement no definition of one of our names, or the one that we write?"""
    if not isinstance(node, _DEFINITION) or node.name not in DEFINITIONS:
        return True
    return ast.dump(node) == ast.dump(ast.parse(DEFINITIONS[node.name].text(target)).body[0])


def _stored(tree: ast.Module) -> set[str]:
    """The names that a module binds otherwise than by a definition at its top level; ``*`` for any."""
    others = (s for s in tree.body if not isinstance(s, _DEFINITION))
    nodes = [node for statement in others for node in ast.walk(statement)]
    names = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    names |= {n.asname or n.name for n in nodes if isinstance(n, ast.alias)}
    return names | {n.name for n in nodes if isinstance(n, _DEFINITION)}


def _bound(tree: ast.Module) -> dict[str, str]:
    return {item.name: item.path for item in imports(tree)}


def _with_definition(text: str, definition: Definition, target: Version | str) -> str:
    """The text with a function that it does not have: in front of the first of ours whose name comes later."""
    tree = ast.parse(text)
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name in DEFINITIONS]
    if any(node.name == definition.name for node in functions):
        return text
    later = next((node for node in functions if node.name > definition.name), None)
    if later is None:
        return f"{text.rstrip()}\n\n\n{definition.text(target)}"
    lines = text.split("\n")
    first = later.lineno - 1
    while first and lines[first - 1].startswith("#"):
        first -= 1
    return "\n".join([*lines[:first], *definition.text(target).split("\n"), "", *lines[first:]])


def _with_imports(text: str, aliases: Collection[str]) -> str:
    """The text with the imports of NKI that functions use: behind its doc string, in front of what else it imports."""
    tree = ast.parse(text)
    missing = sorted(ALIASES[alias] for alias in aliases if alias not in _bound(tree))
    if not missing:
        return text
    lines = text.split("\n")
    present = [item.statement for item in imports(tree) if item.path in ALIASES.values()]
    new = [f"import {path} as {alias}" for alias, path in ALIASES.items() if path in missing]
    if present:
        at = present[0].lineno - 1 if missing == [ALIASES["nisa"]] else present[-1].end_lineno or present[-1].lineno
        return "\n".join([*lines[:at], *new, *lines[at:]])
    at = tree.body[0].end_lineno or 1
    return "\n".join([*lines[:at], "", *new, *lines[at:]])
