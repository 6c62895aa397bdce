"""Functions of Python's own, which neither the module nor the function binds to anything else."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .scope import Scope


def own_function(scope: Scope, node: ast.expr) -> str:
    """The name of a function of Python's own that an expression is; empty for anything else."""
    if not isinstance(node, ast.Name):
        return ""
    symbols = scope.module.symbols
    known = (symbols.globals, symbols.functions, symbols.imports, scope.assigned)
    return "" if any(node.id in names for names in known) else node.id
