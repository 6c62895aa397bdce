"""Masks that bound a sum of two index vectors, ``start + width * i_p + i_f < n``: the first ``n`` elements row by row.

Where a step of the rows is at least as long as a row, such a mask leaves whole rows and a part of the next one. A DMA
copies them one after the other. An engine computes all of these rows where what the mask excludes is undefined: into a
tile of its own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from ..expr import algebra
from ..expr.emission import Refuse
from ..expr.frames import Clamp, Staircase
from ..expr.operands import Item, Operand, Step
from ..expr.values import Comparison, Index
from ..syntax import codes
from .clipping import check_cut
from .masks import HELP
from .named_sizes import named_size

if TYPE_CHECKING:
    from ..analysis.scope import Scope

CODE = codes.MASKS
ELEMENTWISE = {"tensor_copy", "tensor_tensor", "tensor_scalar", "scalar_tensor_tensor", "activation", "reciprocal"}
_MESSAGE = "a mask that is not an upper bound of one index vector"


def staircase(scope: Scope, node: ast.expr, tie: Comparison) -> Staircase:
    """The rows that a mask leaves, computed first. Raises :class:`Refuse` for any other mask of several vectors."""
    vector, limit = _bounded(node, tie)
    rows, columns = sorted(vector.terms, key=lambda term: term.position)
    step, width, count = rows.coefficient, columns.axis.size, rows.axis.size
    first = [algebra.multiply(term.coefficient, term.axis.start) for term in vector.terms]
    start = algebra.add(vector.offset, *first)
    if columns.coefficient != "1" or not (scope.equal(step, width) or _is_longer(scope, step, width)):
        raise Refuse(node, CODE, _MESSAGE, HELP)
    left = named_size(scope, "elements_left", algebra.subtract(limit, start))
    whole = f"({left} - {algebra.paren(width)}) // {algebra.paren(step)} + 1"
    if scope.equal(step, width):
        whole = f"{left} // {algebra.paren(step)}"
    full = named_size(scope, "full_rows", f"min({count}, max(0, {whole}))")
    behind = algebra.subtract(left, algebra.multiply(full, step))
    rest = named_size(scope, "rest_of_row", f"min({width}, {behind}) if {full} < {algebra.paren(count)} else 0")
    touched = algebra.add(left, algebra.subtract(step, "1"))
    some = named_size(scope, "rows_left", f"min({count}, ({touched}) // {algebra.paren(step)})")
    return Staircase(rows.axis, columns.axis, full, rest, some)


def _bounded(node: ast.expr, tie: Comparison) -> tuple[Index, str]:
    """``vector < limit``, of a vector of two dimensions and a number."""
    smaller, larger = tie.left, tie.right
    if tie.operator.startswith("greater"):
        smaller, larger = larger, smaller
    ordered = tie.operator.startswith(("greater", "less")) and not larger.terms and smaller.ndim == 2
    if not ordered or sorted(term.position for term in smaller.terms) != [0, 1]:
        raise Refuse(node, CODE, _MESSAGE, HELP)
    return smaller, algebra.add(larger.offset, "1") if tie.operator.endswith("equal") else larger.offset


def _is_longer(scope: Scope, step: str, width: str) -> bool:
    a, b = scope.constant(step), scope.constant(width)
    return a is not None and b is not None and a >= b > 0


def parts(scope: Scope, node: ast.expr, views: list[Operand], stairs: Staircase) -> Iterator[tuple[str, list[str]]]:
    """What a DMA copies: its size, which may be 0, and each operand as text."""
    whole = Clamp(stairs.rows, 0, 2, stairs.full)
    for view in views:
        if view.dims is None or len(view.dims) != 2 or view.dynamic or view.rows_at is not None:
            raise Refuse(node, CODE, _MESSAGE, HELP)
        check_cut(scope, node, view, [whole, Clamp(stairs.columns, 1, 2, stairs.rest)])
    yield stairs.full, [view.text([whole]) for view in views]
    yield stairs.rest, [_next_row(node, view, stairs).text(()) for view in views]


def _next_row(node: ast.expr, view: Operand, stairs: Staircase) -> Operand:
    """The part of the row behind the whole ones."""
    assert view.dims is not None
    if view.pattern is not None:
        first, last = view.pattern
        offset = algebra.add(view.offset, algebra.multiply(first.stride, stairs.full))
        return replace(view, pattern=(Step(first.stride, "1"), Step(last.stride, stairs.rest)), offset=offset)
    items = list(view.items or [Item("0", size, True) for size in view.dims])
    row, column = view.sources if view.items is not None else (0, 1)
    if row is None or column is None:
        raise Refuse(node, CODE, _MESSAGE, HELP)
    items[row] = Item(algebra.add(items[row].start, stairs.full), "1")
    items[column] = Item(items[column].start, stairs.rest)
    return replace(view, items=tuple(items), sources=(row, column))
