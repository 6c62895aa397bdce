"""Objects that are no tensors: of classes of these files, modules and their members."""

from __future__ import annotations

import ast

from ..syntax.name_scopes import dotted
from .choices import choices
from .facts import Facts


def is_other(facts: Facts, node: ast.expr) -> bool:
    """Is an expression known to be something else than a tensor?"""
    if facts.qualified(node) or isinstance(node, (ast.Constant, ast.List, ast.Tuple, ast.Dict)):
        return True
    if isinstance(node, ast.Name) and node.id in ("self", "cls"):
        return True
    while isinstance(node, ast.Subscript):
        node = node.value
    found = choices(facts, node) if isinstance(node, (ast.Name, ast.IfExp)) else None
    return bool(found) and all(_is_made_elsewhere(facts, path, each) for path, each in found or ())


_HOST = frozenset({"numpy", "jax", "torch", "math"})
"""Modules that make no tensors of NKI."""


def _is_made_elsewhere(facts: Facts, path: str, node: ast.expr) -> bool:
    """Does a class of these files, or a module of the host, make what a call gives?"""
    if not isinstance(node, ast.Call):
        return False
    meant = facts.program.meant(path, node.func)
    parts, scope = dotted(node.func), facts.program.rungs[path].names[node]
    roots = {module.partition(".")[0] for module in scope.of(parts[0])} if parts else set()
    return (meant is not None and isinstance(meant[1], ast.ClassDef)) or (bool(roots) and roots <= _HOST)
