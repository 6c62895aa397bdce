"""Imports of NKI inside kernels: they move to the top of the module."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..expr.emission import Refuse
from ..syntax.codes import LANGUAGE
from ..syntax.names import BETA2, Import, canonical

if TYPE_CHECKING:
    from ..analysis.scope import Scope
    from ..project.program import Module


def move_import(scope: Scope, statement: ast.stmt) -> None:
    """An import inside a kernel moves to the top of the module, if it is not there already."""
    module = scope.module
    items = [item for item in module.symbols.import_list if item.statement is statement]
    moved = [item for item in items if item.name in module.symbols.names and not _is_at_top(module, item)]
    if any(_bound_at_top(module, item) or not _can_move(item) for item in moved) or not items:
        raise Refuse(statement, LANGUAGE, "Beta 2 kernels cannot contain import", "move it to the top of the module")
    scope.apply(LANGUAGE, statement)
    for item in moved:
        module.program.told(_import, module, canonical(item.path) if item.is_nki else item.path, item.name)


def _import(module: Module, path: str, name: str) -> None:
    module.names.needed_imports.setdefault(path, name)


def _is_at_top(module: Module, item: Import) -> bool:
    """Does the top level bind the name to the same, and to nothing else?"""
    at_top = (i for i in module.symbols.import_list if i.statement not in module.symbols.nested_imports)
    same = any(i.name == item.name and canonical(i.path) == canonical(item.path) for i in at_top)
    return same and not _bound_at_top(module, item)


def _can_move(item: Import) -> bool:
    """Is it a module that Beta 2 has, too, or a package that is not NKI?"""
    whole = isinstance(item.statement, ast.Import) or (item.is_nki and canonical(item.path) in BETA2)
    return whole and (canonical(item.path) in BETA2 if item.is_nki else True)


def _bound_at_top(module: Module, item: Import) -> bool:
    """Does the module's top level, or another import, give the name to something else?"""
    others = [
        i for i in module.symbols.import_list if i.name == item.name and canonical(i.path) != canonical(item.path)
    ]
    return bool(others) or item.name in module.symbols.globals or item.name in module.symbols.functions
