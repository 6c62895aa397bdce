"""The numbers of conditions: those that names stand for, and others for a parameter (``if scale != 1.0``)."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator

_WHOLE = (64, 2, 1, 0, -1)
_FRACTIONS = (0.5, 2.0, 1.0, 0.0, -1.0)
_COMPARED: dict[type[ast.cmpop], Callable[[float, float], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_MIRRORED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt,
    ast.Gt: ast.Lt,
    ast.LtE: ast.GtE,
    ast.GtE: ast.LtE,
}


def other_numbers(kernel: ast.FunctionDef, name: str, default: object) -> list[object]:
    """Numbers of the type of ``default`` for which a condition of ``kernel`` on the parameter ``name`` goes the other
    way, the most telling first; none where no condition compares it with a number.
    """
    if not isinstance(default, int | float):
        return []
    found: list[object] = []
    for compared, number in _comparisons(kernel, name):
        side = compared(default, number)
        near = (number + 1, number - 1)
        wanted = (*_WHOLE, *map(int, near)) if isinstance(default, int) else (*_FRACTIONS, *map(float, near))
        found += [value for value in wanted if compared(value, number) != side and value not in found][:2]
    return found


def named_numbers(tree: ast.AST) -> dict[str, int]:
    """The names of a module and its functions that are assigned one number, and nothing else."""
    assigned = [node for node in ast.walk(tree) if isinstance(node, ast.Assign) and len(node.targets) == 1]
    values: dict[str, set[object]] = {}
    for node in assigned:
        if isinstance(node.targets[0], ast.Name):
            value = node.value.value if isinstance(node.value, ast.Constant) else node
            values.setdefault(node.targets[0].id, set()).add(value)
    single = {name: next(iter(found)) for name, found in values.items() if len(found) == 1}
    return {name: value for name, value in single.items() if type(value) is int}


def _comparisons(kernel: ast.FunctionDef, name: str) -> Iterator[tuple[Callable[[float, float], bool], float]]:
    """The comparisons of a name with a number in the conditions of a function: how, and with which."""
    tests = [node.test for node in ast.walk(kernel) if isinstance(node, ast.If | ast.IfExp)]
    for node in (node for test in tests for node in ast.walk(test)):
        if not isinstance(node, ast.Compare) or len(node.ops) != 1:
            continue
        left, right, kind = node.left, node.comparators[0], type(node.ops[0])
        if isinstance(right, ast.Name):
            left, right, kind = right, left, _MIRRORED.get(kind, kind)
        is_number = isinstance(right, ast.Constant) and type(right.value) in (int, float)
        if is_number and isinstance(left, ast.Name) and left.id == name and kind in _COMPARED:
            yield _COMPARED[kind], right.value
