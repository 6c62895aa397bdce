"""Masks of matmuls: which operands, and which part of the product, each bound cuts.

``stationary`` is (contraction, rows), ``moving`` (contraction, columns...). A vector of ``mask=`` that indexes the free
dimension of the stationary bounds the rows of the product, one of the moving its columns; any other one bounds the
dimension where it stands. An operand mask, ``x[i_p, i_f][i_f < n]``, bounds what its vectors index: over the
partitions it cuts the contraction, and so both operands.

Source: NKI 2.26.1, "NKI API Masking", which has operand masks for matmuls only.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from functools import partial, reduce

from ..expr.frames import Clamp
from ..expr.operands import Operand, cut_dimension
from ..expr.values import Mask
from ..render.clipping import check_cut, cut
from ..render.masks import is_mask, mask_of
from ..rules.masks import check_bounds, clamp_of, tighter
from ..syntax.codes import MASKS as CODE
from .compute import Call

_CONTRACTION = -1
_HELP = "clamp the operands by hand"


def operand_masks(call: Call, stationary: str, moving: str) -> tuple[list[Mask], list[Mask]]:
    """Take the trailing masks off two arguments, and return them. What they say of numbers becomes a guard."""
    return _taken(call, stationary), _taken(call, moving)


def _taken(call: Call, parameter: str) -> list[Mask]:
    found = []
    node = call.arguments.get(parameter)
    while isinstance(node, ast.Subscript) and is_mask(call.scope, node.slice):
        call.scope.apply(CODE, node)
        mask = mask_of(call.scope, node.slice)
        check_bounds(node.slice, mask)
        if any(bound.lower for bound in mask.bounds):
            raise call.refuse(CODE, "a lower bound of an operand of a matmul", _HELP)
        found.append(mask)
        node = call.arguments[parameter] = node.value
    call.scope.guard(tuple(condition for mask in found for condition in mask.conditions))
    return found


def cut_product(
    call: Call, stationary: Operand, moving: Operand, masks: tuple[list[Mask], list[Mask]]
) -> tuple[Operand, Operand]:
    """The operands of a matmul under masks, whose bounds are those of the product from here on."""
    scope, bounds = call.scope, list(call.scope.masks.clamps.values())
    own = [[clamp_of(scope, bound) for mask in found for bound in mask.bounds] for found in masks]
    if not bounds and not any(own):
        return stationary, moving
    stationary, moving = _of_tensor(stationary), _of_tensor(moving)
    if stationary.dims is None or moving.dims is None or len(stationary.dims) != 2:
        raise call.refuse(CODE, "a mask on a matmul whose stationary is not known to have two dimensions", _HELP)
    rank = len(moving.dims)
    places: dict[int, list[Clamp]] = {}
    for bound in bounds:
        places.setdefault(_place(call, bound, stationary, moving), []).append(bound)
    for view, found, rows in ((stationary, own[0], 0), (moving, own[1], None)):
        for clamp in found:
            dimension = _bounded(call, view, clamp)
            place = _CONTRACTION if dimension == 0 else rows if rows is not None else dimension
            places.setdefault(place, []).append(clamp)
    cuts = {place: reduce(partial(tighter, scope), found) for place, found in places.items()}
    scope.masks.clamps = {d: replace(c, position=d, ndim=rank) for d, c in cuts.items() if d != _CONTRACTION}
    left = {0: cuts.get(_CONTRACTION), 1: cuts.get(0)}
    right = {d: cuts.get(d or _CONTRACTION) for d in range(rank)}
    return _cut(call, stationary, left), _cut(call, moving, right)


def _of_tensor(view: Operand) -> Operand:
    """The access that a name stands for: Beta 2 cannot cut a part of a part."""
    return view.origin if view.is_view and view.origin is not None else view


def _place(call: Call, clamp: Clamp, stationary: Operand, moving: Operand) -> int:
    """The dimension of the product that a bound of ``mask=`` cuts."""
    rank = len(moving.dims or ())
    rows = clamp.axis == stationary.axes[1]
    columns = clamp.axis in moving.axes[1:]
    if rows != columns:
        return 0 if rows else moving.axes.index(clamp.axis)
    if clamp.position and clamp.ndim != rank:
        raise call.refuse(CODE, f"a mask of {clamp.ndim} dimensions on a matmul of {rank}", _HELP)
    return clamp.position


def _bounded(call: Call, view: Operand, clamp: Clamp) -> int:
    """The dimension of an operand that a bound of its own mask cuts."""
    check_cut(call.scope, call.node, view, [clamp])
    dimension = cut_dimension(clamp, len(view.dims or ()))
    if dimension is None:
        raise call.refuse(CODE, f"a mask of more dimensions than '{view.base}' has", _HELP)
    return dimension


def _cut(call: Call, view: Operand, cuts: dict[int, Clamp | None]) -> Operand:
    rank = len(view.dims or ())
    given = [replace(clamp, position=d, ndim=rank) for d, clamp in cuts.items() if clamp is not None]
    return cut(call.scope, call.node, view, given)
