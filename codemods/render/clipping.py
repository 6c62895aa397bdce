"""A mask's upper bounds cut operands: which dimension each one cuts, and what is left of an operand.

The first dimension of a mask is that of the partitions, the others are aligned with an operand's at the right.

Source: NKI 2.26.1, "NKI API masking".
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..expr import algebra
from ..expr.emission import Refuse
from ..expr.operands import Item, Operand, Step, cut_dimension, cut_item
from ..expr.values import Axis, Tile
from ..syntax import codes
from .vector_ranks import LOOSE

if TYPE_CHECKING:
    from ..analysis.scope import Scope
    from ..expr.frames import Clamp

CODE = codes.MASKS


def check_cut(scope: Scope, node: ast.expr, view: Operand, clamps: Sequence[Clamp]) -> None:
    """Every bound of a mask must be a bound of the dimension that it cuts."""
    if view.rows_at is not None:
        check_cut(scope, node, view.rows_at, [clamp for clamp in clamps if clamp.position == 0])
    for clamp in clamps:
        if view.dims is None:
            raise Refuse(node, CODE, f"a mask on '{view.base}', whose rank is not known", "write every dimension")
        if view.is_view and view.origin is None and view.cuts([clamp]):
            what = f"a mask on '{view.base}', which may be a part of a tensor: the source does not tell which"
            raise Refuse(node, CODE, what, "write the mask where it is known, on the tensor")
        if (clamp.loose and clamp.ndim != len(view.dims)) or not _is_of_one_rank(scope, view, clamp):
            raise Refuse(node, CODE, LOOSE, "write the vectors of this mask with nl.arange")
        result = cut_dimension(clamp, len(view.dims))
        if result is None or view.dims[result] == "1":
            continue
        axis, size = view.axes[result], view.dims[result]
        if axis is None and clamp.axis.start == "0" and ".shape[" in size:  # what a function gave
            scope.assert_equal(size, clamp.axis.size, "a mask on all of a dimension")
        elif not _is_bound_of(scope, clamp, axis, size):
            raise Refuse(
                node,
                CODE,
                f"the mask bounds '{clamp.axis.label or 'an index vector'}', which does not index '{view.base}'",
                "clamp the slices by hand",
            )


def _is_bound_of(scope: Scope, clamp: Clamp, axis: Axis | None, size: str) -> bool:
    """Does a mask bound the index vector ``axis``, or, where that is ``None``, a dimension of ``size`` from 0 on?"""
    if axis is None:
        return clamp.axis.start == "0" and scope.equal(size, clamp.axis.size)
    same = scope.equal(axis.start, clamp.axis.start) and scope.equal(axis.size, clamp.axis.size)
    return axis == clamp.axis or same


def _is_of_one_rank(scope: Scope, view: Operand, clamp: Clamp) -> bool:
    """Where dimensions may be missing, are they missing from the mask and the operand alike? (Partitions are first.)"""
    if clamp.position == 0 or not scope.masks.has_loose:
        return True
    if view.loose or not isinstance(view.value, Tile):
        return clamp.loose == view.loose
    declared = view.value.declaration
    made = declared is not None and isinstance(declared.node, ast.Call) and scope.qualified(declared.node.func)
    computed = made not in _CREATE
    return clamp.loose == computed


_CREATE = {"nl.ndarray", "nl.zeros", "nl.ones", "nl.full", "nl.empty"}


def cut(scope: Scope, node: ast.expr, view: Operand, clamps: Sequence[Clamp]) -> Operand:
    """What a mask leaves of an operand."""
    check_cut(scope, node, view, clamps)
    cuts = view.cuts(clamps)
    if not cuts or view.dims is None:
        return view
    sizes = {cut_dimension(clamp, len(view.dims)): clamp.size for clamp in clamps}
    dims = tuple(n if n == "1" else sizes.get(d, n) for d, n in enumerate(view.dims))
    if view.pattern is not None:
        counts = {d: clamp.size for d, clamp in cuts.items()}
        steps = tuple(Step(step.stride, counts.get(d, step.count)) for d, step in enumerate(view.pattern))
        skipped = (algebra.multiply(view.pattern[d].stride, clamp.start) for d, clamp in cuts.items())
        rows = [clamp for clamp in clamps if clamp.position == 0]
        rows_at = cut(scope, node, view.rows_at, rows) if view.rows_at is not None else None
        return replace(view, dims=dims, pattern=steps, offset=algebra.add(view.offset, *skipped), rows_at=rows_at)
    whole = tuple(Item("0", size, True) for size in view.dims)
    items = tuple(cut_item(item, cuts.get(d)) for d, item in enumerate(view.items or whole))
    sources = view.sources if view.items is not None else tuple(range(len(view.dims)))
    return replace(view, dims=dims, items=items, sources=sources)


def kept(clamps: Sequence[Clamp], keeps: Sequence[int | None], rank: int) -> dict[int, Clamp]:
    """The bounds of a result of ``rank`` dimensions. ``keeps``: which of them each dimension of the operand becomes."""
    moved: dict[int, Clamp] = {}
    for clamp in clamps:
        source = cut_dimension(clamp, len(keeps))
        position = None if source is None else keeps[source]
        if position is not None:
            moved[position] = replace(clamp, position=position, ndim=rank)
    return moved
