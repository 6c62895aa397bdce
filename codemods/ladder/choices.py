"""What an expression of kernel code may be: what stands behind names, arms of conditions, and arguments of calls."""

from __future__ import annotations

import ast

from .bindings import behind_name
from .facts import Facts

_DEEPEST = 6


def choices(facts: Facts, node: ast.expr, path: str = "", depth: int = 0) -> list[tuple[str, ast.expr]] | None:
    """All that ``node`` may be, each with its file; ``None`` where something else than these may be, too."""
    path = path or facts.path
    if isinstance(node, ast.IfExp):
        arms = [choices(facts, arm, path, depth + 1) for arm in (node.body, node.orelse)]
        return None if None in arms else [each for arm in arms if arm is not None for each in arm]
    if not isinstance(node, ast.Name) or facts.program.rungs[path].qualified(node):
        return [(path, node)]
    return None if depth > _DEEPEST else _behind_name(facts, path, node, depth)


def _behind_name(facts: Facts, path: str, name: ast.Name, depth: int) -> list[tuple[str, ast.expr]] | None:
    values = behind_name(facts.program, path, name)
    if values is None:
        literal = facts.program.rungs[path].literal(name)
        return [(path, literal)] if literal is not None else None
    found: list[tuple[str, ast.expr]] = []
    for where, value in values:
        own = choices(facts, value, where, depth + 1) if value is not None else None
        if own is None:
            return None
        found += own
    return found
