"""Small questions about ``ast`` nodes."""

from __future__ import annotations

import ast


def bound_by(statement: ast.stmt) -> set[str]:
    """Names that a statement (or a part of it) binds."""
    if isinstance(statement, ast.FunctionDef):
        return {statement.name}
    return {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
