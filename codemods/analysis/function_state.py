"""Does a function give the same for the same arguments, whenever and how often it is called?

Beta 1 called the function of ``alloc(function)`` once for each block, where the tensor was declared. What is written
calls it where a tile is declared: in a loop, in another order. A function that changes an object, or that reads one
which other functions change, gives other addresses there.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..syntax.node_index import of_kinds
from ..syntax.nodes import bound_by, named_parameters
from .changed_objects import changes

if TYPE_CHECKING:
    from ..project.program import Module


def state_of(module: Module, function: ast.FunctionDef, around: ast.FunctionDef | None = None) -> str:
    """What outlives a call of ``function`` and is changed, by it or by another one; empty where nothing is.

    ``around`` is the function in which it stands: a factory, or the kernel.
    """
    own = _own(function.body)
    found = (change.name for change in changes(module, around or function, function.body))
    changed = next((name for name in found if name not in own), "")
    return changed or min(_read(module, function) & _changed_anywhere(module), default="")


def _own(body: Sequence[ast.stmt]) -> set[str]:
    return {name for statement in body for name in bound_by(statement)}


def _read(module: Module, function: ast.FunctionDef) -> set[str]:
    """The names of the module that a function reads, or one that it calls."""
    read: set[str] = set()
    pending = [function]
    seen: set[ast.FunctionDef] = set()
    while pending:
        node = pending.pop()
        if node in seen:
            continue
        seen.add(node)
        names = {n.id for n in of_kinds(node, ast.Name)} - _own(node.body) - {a.arg for a in named_parameters(node)}
        read |= names
        pending += [module.symbols.functions[name] for name in names & module.symbols.functions.keys()]
    return read


def _changed_anywhere(module: Module) -> set[str]:
    """The module's names whose objects some function changes, or that one binds anew."""
    changed: set[str] = set()
    for function in of_kinds(module.source.tree, ast.FunctionDef):
        own = _own(function.body) | {a.arg for a in named_parameters(function)}
        anew = {name for node in of_kinds(function, ast.Global) for name in node.names}
        changed |= {change.name for change in changes(module, function, function.body)} - own | anew
    return changed & module.symbols.module_level
