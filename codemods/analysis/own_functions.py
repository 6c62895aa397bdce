"""Functions of Python's own, which neither the module nor the function binds to anything else."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .scope import Scope


def own_function(scope: Scope, node: ast.expr) -> str:
    """The name of a function of Python's own that an expression is; empty for anything else."""
    return node.id if isinstance(node, ast.Name) and scope.means_builtin(node.id) else ""
