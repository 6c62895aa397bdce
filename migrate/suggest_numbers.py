"""The numbers of conditions: those that names stand for, and others for a parameter (``if scale != 1.0``); and which
parameters are numbers.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from .suggest_expressions import evaluated

_WHOLE = (64, 2, 1, 0, -1)
_FRACTIONS = (0.5, 2.0, 1.0, 0.0, -1.0)


def other_numbers(kernel: ast.FunctionDef, name: str, default: object) -> list[object]:
    """Numbers of the type of ``default`` for which a condition of ``kernel`` on the parameter ``name`` goes the other
    way, the most telling first; none where no condition compares it with a number.
    """
    if not isinstance(default, int | float):
        return []
    found: list[object] = []
    for compared, number in _comparisons(kernel, name):
        side = evaluated(compared, {name: default})
        near = (number + 1, number - 1)
        wanted = (*_WHOLE, *map(int, near)) if isinstance(default, int) else (*_FRACTIONS, *map(float, near))
        found += [value for value in wanted if evaluated(compared, {name: value}) != side and value not in found][:2]
    return found


def is_number(kernel: ast.FunctionDef, name: str) -> bool:
    """Does ``kernel`` compute with a parameter as with a number: in arithmetic, or as an operand that it hands over?

    What is indexed, loaded or asked for an attribute is a tensor or an object.
    """
    computes = False
    for node in ast.walk(kernel):
        if isinstance(node, ast.Subscript | ast.Attribute) and _is_name(node.value, name):
            return False
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            given = [*node.args, *(keyword.value for keyword in node.keywords)]
            handed = any(_is_name(each, name) for each in given)
            if handed and re.search("load|copy|store|transpose", node.func.attr):
                return False
            computes = computes or handed
        elif isinstance(node, ast.BinOp):
            computes = computes or _is_name(node.left, name) or _is_name(node.right, name)
    return computes


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


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


def _comparisons(kernel: ast.FunctionDef, name: str) -> Iterator[tuple[ast.Compare, float]]:
    """The comparisons of a name with a number in the conditions of a function, and the numbers."""
    tests = [node.test for node in ast.walk(kernel) if isinstance(node, ast.If | ast.IfExp)]
    for node in (node for test in tests for node in ast.walk(test) if isinstance(node, ast.Compare)):
        sides = [node.left, *node.comparators]
        numbers = [s.value for s in sides if isinstance(s, ast.Constant) and type(s.value) in (int, float)]
        if len(sides) == 2 and len(numbers) == 1 and any(_is_name(s, name) for s in sides):
            yield node, numbers[0]
