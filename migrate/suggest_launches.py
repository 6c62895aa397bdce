"""What the launches of a file say of a kernel's launch grid without telling a number."""

from __future__ import annotations

import ast

from .suggest_facts import parameters

FIRST = 2
"""Programs along an axis whose extent a launch hands over: the fewest that share work."""


def handed_extents(tree: ast.Module, kernel: ast.FunctionDef) -> dict[str, int]:
    """The parameters that get the extent of an axis of the grid, and the axis: ``kernel[nl.nc(cores)](x, cores)``."""
    found: dict[str, int] = {}
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Subscript):
            continue
        if not isinstance(call.func.value, ast.Name) or call.func.value.id != kernel.name:
            continue
        extents = call.func.slice.elts if isinstance(call.func.slice, ast.Tuple) else [call.func.slice]
        axes = {ast.unparse(_extent(extent)): axis for axis, extent in enumerate(extents)}
        given = dict(zip(parameters(kernel), call.args, strict=False))
        given |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
        for name, value in given.items():
            if not isinstance(value, ast.Constant) and ast.unparse(value) in axes:
                found.setdefault(name, axes[ast.unparse(value)])
    return found


def _extent(node: ast.expr) -> ast.expr:
    """``cores`` of ``nl.nc(cores)``."""
    is_cores = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "nc"
    return node.args[0] if is_cores and len(node.args) == 1 else node
