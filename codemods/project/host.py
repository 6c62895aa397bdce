"""Host code: what its names are bound to, and the harnesses of Beta 1 that it runs kernels under."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..syntax.node_index import of_kinds, walk

if TYPE_CHECKING:
    from .program import Module

HARNESSES = {"nki.baremetal", "nki.benchmark", "nki.profile"}

Owner = ast.Module | ast.FunctionDef


def assigned(owner: Owner, name: str) -> list[ast.expr]:
    """All that a function or module assigns to ``name``; nothing when it is bound in any other way, too."""
    bindings = sum(isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store) for n in walk(owner))
    bindings += sum(isinstance(n, ast.arg) and n.arg == name for n in walk(owner))
    assignments = list(of_kinds(owner, ast.Assign))
    values = [n.value for n in assignments for t in n.targets if isinstance(t, ast.Name) and t.id == name]
    return values if len(values) == bindings else []


def read_by_host(module: Module, name: str) -> bool:
    """Is a global name read outside of the functions that are rewritten?"""
    rewritten = [f for f in module.symbols.functions.values() if f in module.program.kernel_code]
    inside = {id(n) for f in rewritten for n in walk(f)}
    return any(
        isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load) and id(n) not in inside
        for n in walk(module.source.tree)
    )
