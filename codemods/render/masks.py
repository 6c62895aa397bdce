"""Masks: conjunctions of comparisons, on Python values and on index vectors."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from ..analysis.classes import never_none
from ..analysis.maybe_tensors import may_be_no_number
from ..expr import algebra
from ..expr.emission import New, Refuse
from ..expr.values import Bound, Comparison, Grid, Index, Mask, Python
from ..syntax import codes
from ..syntax.node_index import of_kinds
from .index import index_value, simplified

if TYPE_CHECKING:
    from ..analysis.scope import Scope

CODE = codes.MASKS
HELP = "clamp the slices with min(...), or guard the statement with an if"


def mask_value(scope: Scope, node: ast.expr) -> Mask | None:
    """The mask that an expression is; ``None`` when it is no comparison on index vectors or Python values."""
    if isinstance(node, ast.Name):
        value = scope.names.env.get(node.id)
        return value if isinstance(value, Mask) else None
    if isinstance(node, ast.Constant) and (node.value is None or node.value is True):
        return Mask()
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd):
        return _both(scope, node.left, node.right)
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        total = Mask()
        for operand in node.values:
            total = joined(total, mask_of(scope, operand))
        return total
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return _comparison(scope, node)
    if isinstance(node, ast.IfExp):
        return _chosen(scope, node)
    if isinstance(node, ast.Call):
        if is_broadcast_mask(scope, node):
            return mask_value(scope, node.args[0])
        found = scope.evaluator.called(scope, node)
        return found if isinstance(found, Mask) else None
    return None


def is_broadcast_mask(scope: Scope, node: ast.expr) -> bool:
    """Is it ``nl.broadcast_to(mask, ...)``: the mask itself, which bounds all of what it is repeated to?"""
    if not (isinstance(node, ast.Call) and node.args and scope.qualified(node.func) == "nl.broadcast_to"):
        return False
    return is_mask(scope, node.args[0])


def is_mask(scope: Scope, node: ast.expr) -> bool:
    """Is a subscript an operand mask: comparisons, where an index would stand?"""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd):
        return is_mask(scope, node.left) or is_mask(scope, node.right)
    if isinstance(node, ast.Name):
        return isinstance(scope.names.env.get(node.id), Mask)
    return isinstance(node, ast.Compare) or is_broadcast_mask(scope, node)


def compares_vectors(scope: Scope, node: ast.expr) -> bool:
    """Is a condition a mask of index vectors, or one of the parts that it joins? Comparisons of tiles are none."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd):
        return compares_vectors(scope, node.left) or compares_vectors(scope, node.right)
    if isinstance(node, ast.Compare):
        return any(index_value(scope, side) is not None for side in (node.left, *node.comparators))
    return is_mask(scope, node)


def _chosen(scope: Scope, node: ast.IfExp) -> Mask | None:
    """``a if mask is None else a & mask``: one mask, of whose conditions a test chooses.

    ``None`` where no side bounds an index vector: that is a Python value, or nothing.
    """
    sides = [mask_value(scope, side) for side in (node.body, node.orelse)]
    if not any(side is not None and side.of_vectors for side in sides):
        return None
    return _either(scope, node)


def _either(scope: Scope, node: ast.IfExp) -> Mask:
    """The mask that a choice between two is. Raises :class:`Refuse` where their bounds differ."""
    a, b = (mask_of(scope, side) for side in (node.body, node.orelse))
    if [_written(bound) for bound in a.bounds] != [_written(bound) for bound in b.bounds] or a.ties or b.ties:
        raise Refuse(node, CODE, "a choice between masks of different bounds", "write one statement in each branch")
    if a.conditions == b.conditions:
        return a
    test = scope.evaluator.render(scope, node.test)
    if isinstance(scope.names.env.get(node.test.id) if isinstance(node.test, ast.Name) else None, Mask):
        raise Refuse(node, CODE, f"the mask '{test}' is used as a value", HELP)
    first, second = (" and ".join(algebra.paren(c) for c in side.conditions) for side in (a, b))
    if not first:
        return Mask((f"{algebra.paren(test)} or {second}",), a.bounds)
    if not second:
        return Mask((f"not {algebra.paren(test)} or {first}",), a.bounds)
    return Mask((f"({first}) if {test} else ({second})",), a.bounds)


def _written(bound: Bound) -> object:
    """A bound as it is written: each ``nl.arange`` has an axis of its own."""
    term = bound.term
    return term.axis.start, term.axis.size, term.position, bound.ndim, bound.limit, bound.lower


def mask_of(scope: Scope, node: ast.expr) -> Mask:
    """The mask that an expression is. Raises :class:`Refuse` where that is not known."""
    mask = mask_value(scope, node)
    if mask is not None:
        return mask
    if isinstance(node, ast.IfExp):
        return _either(scope, node)
    text = scope.evaluator.render(scope, node)
    if never_none(scope, node) or (isinstance(node, ast.Name) and _is_comparison(scope, node.id)):
        return Mask((text,))
    if not _is_python(scope, node):
        raise Refuse(node, CODE, f"it is not known what the mask '{ast.unparse(node)}' is", HELP)
    if not isinstance(node, ast.Name):
        name = scope.fresh("mask")
        scope.output.lines.append(New(f"{name} = {text}"))
        scope.names.env[name] = Python()
        text = name
    return Mask((f"{text} is None or {text}",))  # None masks nothing


def _is_python(scope: Scope, node: ast.expr) -> bool:
    """Is a mask that is no comparison a Python value, as far as its parts tell?"""
    if isinstance(node, ast.Name):
        return isinstance(scope.names.env.get(node.id), Python)
    if isinstance(node, ast.Call) and scope.evaluator.module_function(scope, node) is not None:
        return isinstance(scope.evaluator.call_value(scope, node)[1], Python)
    calls = list(of_kinds(node, ast.Call))
    return not may_be_no_number(scope, node) and not any(scope.evaluator.is_unread(scope, call) for call in calls)


def _is_comparison(scope: Scope, name: str) -> bool:
    known = scope.sizes.definitions.get(name) or scope.sizes.formulas.get(name)
    return known is not None and isinstance(algebra.parse(known), ast.Compare | ast.BoolOp)


def _both(scope: Scope, left: ast.expr, right: ast.expr) -> Mask:
    return joined(mask_of(scope, left), mask_of(scope, right))


def joined(a: Mask, b: Mask) -> Mask:
    """The conjunction of two masks."""
    return Mask(a.conditions + b.conditions, a.bounds + b.bounds, a.ties + b.ties)


def _comparison(scope: Scope, node: ast.Compare) -> Mask:
    left, right = index_value(scope, node.left), index_value(scope, node.comparators[0])
    if left is None and right is None:
        of_identity = isinstance(node.ops[0], ast.Is | ast.IsNot)  # what a tensor answers, too
        for side in () if of_identity else (node.left, node.comparators[0]):
            if may_be_no_number(scope, side):
                what = f"it is not known whether '{ast.unparse(side)}' in a mask is a number"
                raise Refuse(node, CODE, what, "Beta 2 selects elements by a tile with nisa.tensor_copy_predicated")
        return Mask((scope.evaluator.render(scope, node),))
    if isinstance(left, Grid) or isinstance(right, Grid):
        raise Refuse(node, CODE, "a mask compares an mgrid object", HELP)
    mask = compared(node, _side(scope, node.left), _side(scope, node.comparators[0]), scales=True)
    step = _step(mask.comparison) if mask.comparison is not None and mask.bounds else "1"
    number = scope.constant(step)
    if number is None:
        scope.assert_that(f"{step} > 0", "a mask of steps that are positive")
    elif number < 1 and step != "-1":
        return replace(mask, bounds=(), ties=(mask.comparison,) if mask.comparison is not None else ())
    return mask


def compared(node: ast.Compare, a: Index, b: Index, *, scales: bool = False) -> Mask:
    """The mask that a comparison of two vectors is (a number is a vector of no dimension).

    With ``scales``, ``n * i < limit`` is a bound of ``i`` where ``n``, which must be positive, is no number, too.
    """
    operator = OPERATORS.get(type(node.ops[0]))
    if operator is None:
        raise Refuse(node, CODE, "a mask that is not a comparison of numbers", HELP)
    comparison = Comparison(a, operator, b)
    bound = _bound(comparison, scales=scales)
    return Mask(bounds=(bound,), comparison=comparison) if bound else Mask(ties=(comparison,), comparison=comparison)


OPERATORS: dict[type[ast.cmpop], str] = {
    ast.GtE: "greater_equal",
    ast.Gt: "greater",
    ast.LtE: "less_equal",
    ast.Lt: "less",
    ast.Eq: "equal",
    ast.NotEq: "not_equal",
}


def _side(scope: Scope, part: ast.expr) -> Index:
    value = index_value(scope, part)
    if isinstance(value, Index):
        return simplified(scope, value)
    return Index(0, (), scope.evaluator.render_stable(scope, part))


def _step(comparison: Comparison) -> str:
    """The coefficient of the one vector of a comparison."""
    return (comparison.left.terms or comparison.right.terms)[0].coefficient


def _bound(comparison: Comparison, *, scales: bool) -> Bound | None:
    """The bound of one vector that a comparison is; ``None`` for several vectors."""
    if "less" not in comparison.operator and "greater" not in comparison.operator:
        return None
    smaller, larger = comparison.left, comparison.right
    if comparison.operator.startswith("greater"):
        smaller, larger = larger, smaller
    vector, other = (smaller, larger) if smaller.terms else (larger, smaller)
    if len(vector.terms) != 1 or other.terms:
        return None
    step = vector.terms[0].coefficient
    number = algebra.constant(step, {})
    if (number is None and not scales) or (number is not None and number < 1 and number != -1):
        return None
    or_equal = comparison.operator.endswith("equal")
    term = replace(vector.terms[0], coefficient="1")
    if (vector is smaller) == (step != "-1"):
        limit = algebra.subtract(larger.offset, smaller.offset)
        limit = _steps(algebra.increment(limit) if or_equal else limit, step)
        return Bound(term, vector.ndim, limit, vector.loose)
    limit = algebra.subtract(smaller.offset, larger.offset)
    limit = _steps(limit if or_equal else algebra.increment(limit), step)
    return Bound(term, vector.ndim, limit, vector.loose, lower=True)


def _steps(distance: str, step: str) -> str:
    """How many steps go into a distance, the last one perhaps in part: ``i < n`` where ``step * i < distance``."""
    if step in ("1", "-1"):
        return distance
    return f"{algebra.paren(algebra.add(distance, algebra.subtract(step, '1')))} // {algebra.paren(step)}"
