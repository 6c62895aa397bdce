"""Constants of ones and zeros: ``np.fromfunction(lambda i, j: (i == j).astype(t), shape)``.

Where the function is one comparison of indices, the kernel makes the constant itself: it selects ones where the
difference of the two sides compares to 0.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from ..analysis.maybe_tensors import may_be_no_number
from ..analysis.scope import Scope
from ..expr import algebra
from ..expr.emission import New, Refuse
from ..expr.values import Hbm
from ..render.expressions import render
from ..render.masks import OPERATORS
from ..render.shapes import written_sizes
from ..render.support import affine_constant_function
from ..render.type_names import dtype_text
from ..syntax import codes
from ..syntax.format import tuple_text
from ..syntax.node_index import walk

CODE = codes.CONSTANTS
HELP = "build it with nki.tensor, or pass it as a kernel input"
_MOST_DIMENSIONS = 5
"""The partitions, and the four pairs of a pattern of ``nisa.affine_select``."""
_WIDE = {"np.int32", "np.int64", "np.float64"}
_NARROW = {"np.int8": 2**7, "np.uint8": 2**8, "np.int16": 2**15, "np.uint16": 2**16}
"""How many indices a small type counts."""


@dataclass(frozen=True)
class _Side:
    """One side of the comparison: a number, and a step for each index (source expressions)."""

    offset: str
    steps: dict[str, str] = field(default_factory=dict)

    @property
    def is_plain(self) -> bool:
        """Is a side one index, or a number? Nothing is computed of indices then."""
        return not self.steps or (self.offset == "0" and list(self.steps.values()) == ["1"])


def affine_constant(scope: Scope, name: str, array: ast.Call, dtype: ast.expr | None) -> Hbm:
    """``name = np.fromfunction(...)`` as a tensor in HBM; ``dtype`` is the type that the constant is asked to have."""
    given = {k.arg: k.value for k in array.keywords}
    given.update(zip(("function", "shape"), array.args, strict=False))
    known = set(given) <= {"function", "shape", "dtype"} and len(array.args) <= 2
    if not known or not {"function", "shape"} <= set(given):
        raise Refuse(array, CODE, "np.fromfunction with other arguments than a function, a shape and a type", HELP)
    sizes = written_sizes(scope, given["shape"])
    if sizes is None or sizes.partition is not None or not 1 <= len(sizes.all) <= _MOST_DIMENSIONS:
        raise Refuse(array, CODE, "np.fromfunction of a shape that the source does not tell", HELP)
    indices, test, stored = _comparison(scope, array, given["function"], len(sizes.all))
    left, right = (_side(scope, side, indices) for side in (test.left, test.comparators[0]))
    if not (left.steps or right.steps):
        raise Refuse(array, CODE, "np.fromfunction that compares no index gives one number", HELP)
    _check_range(scope, array, given.get("dtype"), (left, right), dict(zip(indices, sizes.all, strict=True)))
    steps = [algebra.subtract(left.steps.get(i, "0"), right.steps.get(i, "0")) for i in indices]
    offset = algebra.subtract(left.offset, right.offset)
    text = dtype_text(scope, stored if dtype is None else dtype)
    emit_constant(scope, array, name, sizes.all, (steps, offset, OPERATORS[type(test.ops[0])]), text)
    return Hbm(sizes.all, text)


def emit_constant(
    scope: Scope,
    array: ast.Call,
    name: str,
    sizes: tuple[str, ...],
    comparison: tuple[list[str], str, str],
    dtype: str,
) -> None:
    """``name`` is a tensor of ones where steps times indices, plus an offset, compare to zero by an operator."""
    if scope.memory.direct:
        raise Refuse(array, CODE, "a constant that needs tiles, in a kernel that places its tiles itself", HELP)
    scope.apply(CODE, array)
    steps, offset, operator = comparison
    function, shape = affine_constant_function(scope), tuple_text(sizes)
    scope.emit(f"{name} = {function}({shape}, [{', '.join(steps)}], {offset}, {scope.nl}.{operator}, {dtype})")


def _comparison(
    scope: Scope, array: ast.Call, function: ast.expr, rank: int
) -> tuple[list[str], ast.Compare, ast.expr]:
    """The names of the indices, what is compared, and the type of the result: ``(i == j).astype(t)``."""
    body = function.body if isinstance(function, ast.Lambda) else None
    cast = isinstance(body, ast.Call) and isinstance(body.func, ast.Attribute) and body.func.attr == "astype"
    if not isinstance(function, ast.Lambda) or not isinstance(body, ast.Call) or not cast:
        raise Refuse(array, CODE, "np.fromfunction of anything but lambda i, j: (i == j).astype(dtype)", HELP)
    arguments = function.args
    names = [a.arg for a in arguments.args]
    others = [*arguments.posonlyargs, *arguments.kwonlyargs, *arguments.defaults, arguments.vararg, arguments.kwarg]
    test = body.func.value if isinstance(body.func, ast.Attribute) else body
    plain = not any(others) and len(names) == rank and len(body.args) == 1 and not body.keywords
    compared = isinstance(test, ast.Compare) and len(test.ops) == 1 and type(test.ops[0]) in OPERATORS
    if not plain or not compared or not isinstance(test, ast.Compare):
        raise Refuse(array, CODE, "np.fromfunction of anything but lambda i, j: (i == j).astype(dtype)", HELP)
    if any(isinstance(n, ast.Name) and n.id in names for n in walk(body.args[0])):
        raise Refuse(array, CODE, "a type that depends on an index", HELP)
    return names, test, body.args[0]


def _side(scope: Scope, node: ast.expr, indices: list[str]) -> _Side:
    """One side as a sum of multiples of indices and a number."""
    if isinstance(node, ast.Name) and node.id in indices:
        return _Side("0", {node.id: "1"})
    if not any(isinstance(n, ast.Name) and n.id in indices for n in walk(node)) and not may_be_no_number(scope, node):
        return _Side(algebra.paren(render(scope, node)))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return _multiple(_side(scope, node.operand, indices), "-1")
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        a, b = _side(scope, node.left, indices), _side(scope, node.right, indices)
        b = _multiple(b, "-1") if isinstance(node.op, ast.Sub) else b
        steps = {i: algebra.add(a.steps.get(i, "0"), b.steps.get(i, "0")) for i in [*a.steps, *b.steps]}
        return _Side(algebra.add(a.offset, b.offset), steps)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        a, b = _side(scope, node.left, indices), _side(scope, node.right, indices)
        if not (a.steps and b.steps):
            return _multiple(a, b.offset) if a.steps else _multiple(b, a.offset)
    raise Refuse(node, CODE, "a constant of indices that are not added and multiplied with numbers", HELP)


def _multiple(side: _Side, factor: str) -> _Side:
    def times(text: str) -> str:
        return algebra.negative(text) if factor == "-1" else algebra.multiply(text, factor)

    return _Side(times(side.offset), {i: times(step) for i, step in side.steps.items()})


def _check_range(
    scope: Scope, array: ast.Call, dtype: ast.expr | None, sides: tuple[_Side, _Side], sizes: dict[str, str]
) -> None:
    """Indices of a small type (``dtype=``) wrap around: plain indices are compared, and none is too large."""
    name = "np.float64" if dtype is None else scope.qualified(dtype) or ast.unparse(dtype)
    if name in _WIDE or name in ("int", "float"):
        return
    if name not in _NARROW or not all(side.is_plain for side in sides):
        raise Refuse(array, CODE, f"np.fromfunction computes with indices of type {name}", "leave the type out")
    for index in {i for side in sides for i in side.steps}:
        if not _at_most(scope, sizes[index], _NARROW[name]):
            check = f'assert {sizes[index]} <= {_NARROW[name]}, "indices of {name} would wrap around"'
            scope.output.lines.append(New(check))


def _at_most(scope: Scope, size: str, most: int) -> bool:
    """Is a size a small number, or ``min(..., 128)`` under a name?"""
    number = scope.constant(size)
    if number is not None:
        return number <= most
    node = algebra.parse(scope.sizes.definitions.get(size, size))
    smallest = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "min"
    if not smallest or not isinstance(node, ast.Call) or "min" in scope.names.assigned:
        return False
    numbers = [scope.constant(ast.unparse(a)) for a in node.args]
    return any(n is not None and n <= most for n in numbers)
