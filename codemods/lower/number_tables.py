"""Arrays of numpy that a kernel computes when it is traced, ``np.arange(n) * h // n``: Beta 2 gets lists of numbers.

Only arrays of one dimension: ``np.arange`` and arithmetic on such arrays, element by element. A list is filled by a
loop in front of the statement, and read element by element. Sound while no element leaves the range of its type.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..expr import algebra
from ..expr.emission import New, Refuse
from ..expr.values import Numbers
from ..render.expressions import render_stable
from ..render.support import sequence_function
from ..syntax.codes import DATA_TYPES as CODE
from ..syntax.node_index import of_kinds

if TYPE_CHECKING:
    from ..analysis.scope import Scope

_HELP = "compute it element by element, in a list"
_OPERATORS: dict[type[ast.operator], Callable[[str, str], str]] = {
    ast.Add: algebra.add,
    ast.Sub: algebra.subtract,
    ast.Mult: algebra.multiply,
    ast.FloorDiv: lambda a, b: f"{algebra.paren(a)} // {algebra.paren(b)}",
    ast.Mod: algebra.modulo,
}
_REDUCTIONS = {"max", "min", "sum"}


@dataclass(frozen=True)
class Table:
    """``size`` numbers: ``element`` gives the text of one, for the text of its index."""

    size: str
    element: Callable[[str], str]


def table_of(scope: Scope, node: ast.expr) -> Table | None:
    """The array of numbers that an expression is; ``None`` where it is none. Raises :class:`Refuse` for others."""
    if isinstance(node, ast.Name):
        value = scope.names.env.get(node.id)
        return Table(value.size, lambda i: f"{node.id}[{i}]") if isinstance(value, Numbers) else None
    if isinstance(node, ast.Call) and scope.qualified(node.func) == "np.arange":
        return _arange(scope, node)
    if isinstance(node, ast.BinOp):
        return _combined(scope, node)
    return None


def _arange(scope: Scope, node: ast.Call) -> Table:
    others = [k for k in node.keywords if k.arg != "dtype"]
    types = [k.value for k in node.keywords if k.arg == "dtype"]
    if others or not 1 <= len(node.args) <= 2 or not all(_is_integer(scope, dtype) for dtype in types):
        raise Refuse(node, CODE, "np.arange with a step, or of numbers that are not integers", _HELP)
    bounds = [render_stable(scope, argument) for argument in node.args]
    first, stop = ("0", bounds[0]) if len(bounds) == 1 else bounds
    count = algebra.normal(f"({stop}) - ({first})", scope.sizes.definitions)
    size = algebra.show(count) if len(count) == 1 else algebra.subtract(stop, first)
    return Table(size, lambda i: algebra.add(first, i))


def _is_integer(scope: Scope, dtype: ast.expr) -> bool:
    plain = isinstance(dtype, ast.Name) and dtype.id == "int" and "int" not in scope.names.assigned
    return plain or scope.qualified(dtype) in ("np.int32", "np.int64", "nl.int32")


def _combined(scope: Scope, node: ast.BinOp) -> Table | None:
    sides = [table_of(scope, side) for side in (node.left, node.right)]
    known = [side for side in sides if side is not None]
    if not known:
        return None
    operator = _OPERATORS.get(type(node.op))
    if operator is None:
        raise Refuse(node, CODE, "an operation on numpy arrays that is not of integers", _HELP)
    if len(known) == 2 and not scope.equal(known[0].size, known[1].size):
        raise Refuse(node, CODE, "numpy arrays whose sizes are not known to be equal", _HELP)
    texts = [
        side.element if side is not None else _number(scope, part)
        for side, part in zip(sides, (node.left, node.right), strict=True)
    ]
    left, right = texts
    return Table(known[0].size, lambda i: operator(left(i), right(i)))


def _number(scope: Scope, node: ast.expr) -> Callable[[str], str]:
    text = render_stable(scope, node)
    return lambda _index: text


def assign_table(scope: Scope, name: str, node: ast.expr) -> bool:
    """``name = <array>`` as a list that a loop fills; ``False`` for anything else."""
    table = None if isinstance(node, ast.Name) else table_of(scope, node)
    if table is None:
        return False
    scope.apply(CODE, node)
    final = scope.fresh(name) if name in _read(node) else name
    _fill(scope, final, table)
    if final != name:
        scope.emit(f"{name} = {final}")
    scope.names.env[name] = Numbers(size=f"len({name})" if name in algebra.names(table.size) else table.size)
    return True


def _read(node: ast.expr) -> set[str]:
    return {n.id for n in of_kinds(node, ast.Name)}


def _fill(scope: Scope, name: str, table: Table) -> None:
    index = scope.unused("index")
    lines = [f"{name} = []", f"for {index} in range({table.size}):", f"    {name}.append({table.element(index)})"]
    scope.output.lines.append(New("\n".join(lines)))  # whatever a mask says: the host computed it


def reduced_table(scope: Scope, node: ast.Call) -> str | None:
    """``values.max()``, ``np.max(values)`` or ``len(values)`` of an array of numbers; ``None`` for any other call."""
    function, given = node.func, [*node.args, *node.keywords]
    if isinstance(function, ast.Name) and function.id == "len" and len(given) == 1 and isinstance(given[0], ast.Name):
        return f"len({given[0].id})" if isinstance(scope.names.env.get(given[0].id), Numbers) else None
    if not isinstance(function, ast.Attribute) or function.attr not in _REDUCTIONS:
        return None
    of_numpy = scope.qualified(function) == f"np.{function.attr}"
    array = node.args[0] if of_numpy and node.args else function.value
    table = table_of(scope, array)
    if table is None:
        return None
    if len(given) != of_numpy:
        raise Refuse(node, CODE, f"{function.attr} of a numpy array with arguments", _HELP)
    scope.apply(CODE, node)
    name = array.id if isinstance(array, ast.Name) else scope.fresh("values")
    if not isinstance(array, ast.Name):
        _fill(scope, name, table)
    return f"{sequence_function(scope, 'sum') if function.attr == 'sum' else function.attr}({name})"


def is_element(scope: Scope, node: ast.Subscript) -> bool:
    """Is a subscript one number of such a list?"""
    known = isinstance(node.value, ast.Name) and isinstance(scope.names.env.get(node.value.id), Numbers)
    return known and not isinstance(node.slice, ast.Slice | ast.Tuple)
