"""Host code: what its names are bound to, and the harnesses of Beta 1 that it runs kernels under."""

from __future__ import annotations

import ast

from ..syntax.node_index import of_kinds, walk

HARNESSES = {"nki.baremetal", "nki.benchmark", "nki.profile"}

Owner = ast.Module | ast.FunctionDef


def assigned(owner: Owner, name: str) -> list[ast.expr]:
    """All that a function or module assigns to ``name``; nothing when it is bound in any other way, too."""
    bindings = sum(isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store) for n in walk(owner))
    bindings += sum(isinstance(n, ast.arg) and n.arg == name for n in walk(owner))
    assignments = list(of_kinds(owner, ast.Assign))
    values = [n.value for n in assignments for t in n.targets if isinstance(t, ast.Name) and t.id == name]
    return values if len(values) == bindings else []
