"""Slices with a step, ``tile[:, 0:n:2]``: what an index vector with that step takes, ``2 * nl.arange((n + 1) // 2)``.

Beta 2 drops the step of a slice; an access pattern has it.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..analysis.maybe_tensors import may_be_no_number
from ..analysis.positivity import positive
from ..expr import algebra
from ..expr.emission import Refuse
from ..expr.operands import Item
from ..expr.values import Index, Term, Value
from ..render.expressions import render_named
from ..render.index import new_axis
from .items import VECTORS, basic_item, slice_item

if TYPE_CHECKING:
    from ..analysis.scope import Scope

_HELP = "write the access as .ap(...), whose patterns have steps"


def stepped_vectors(
    scope: Scope, node: ast.Subscript, elements: list[ast.expr], dims: tuple[str, ...]
) -> list[Value | None] | None:
    """The elements of a subscript as index vectors, numbers as ``None``; ``None`` where no slice has a step."""
    if not any(isinstance(e, ast.Slice) and e.step is not None for e in elements):
        return None
    found = [_item(scope, node, element, size) for element, size in zip(elements, dims, strict=True)]
    rank = sum(not item.point for item, _ in found)
    vectors: list[Value | None] = []
    position = 0
    for item, step in found:
        if item.point:
            vectors.append(None)
            continue
        axis = new_axis("0", item.count)
        vectors.append(Index(rank, (Term(axis, step, position),), item.start))
        position += 1
    return vectors


def _item(scope: Scope, node: ast.Subscript, element: ast.expr, size: str) -> tuple[Item, str]:
    """What an element takes of a dimension of ``size`` elements, and its step."""
    if not isinstance(element, ast.Slice) or element.step is None:
        return basic_item(scope, node, element, size), "1"
    if may_be_no_number(scope, element.step):
        raise Refuse(element, VECTORS, f"it is not known what the step of '{ast.unparse(element)}' is", _HELP)
    step = render_named(scope, element.step)
    number = scope.constant(step)
    if number is not None and number < 1:
        raise Refuse(element, VECTORS, "a slice that steps backwards", _HELP)
    if not positive(scope, step) and number is None:
        scope.assert_that(f"{step} > 0", "slices that step forwards")
    item = slice_item(scope, ast.copy_location(ast.Slice(element.lower, element.upper, None), element), size)
    return Item(item.start, _count(scope, item.count, step, number)), step


def _count(scope: Scope, size: str, step: str, number: int | None) -> str:
    """How many of ``size`` elements a step takes, the first one among them."""
    behind = algebra.add(size, algebra.subtract(step, "1")) if number is None else f"{size} + {number - 1}"
    behind = algebra.difference(behind, "0", scope.sizes.definitions)
    known = scope.constant(behind)
    if known is not None and number is not None:
        return str(known // number)
    return behind if number == 1 else f"{algebra.paren(behind)} // {algebra.paren(step)}"
