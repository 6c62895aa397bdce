"""Reductions over free dimensions, over partitions, and over programs; softmax and RMS norm."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from .. import isa
from ..errors import KernelError, NotModelled
from ..isa.core import result_of
from ..isa.reductions import reduce_axes
from ..memory import Computed, View
from ..numerics import DTYPES, FLOAT32, is_integer, to_float32
from .base import Shape
from .grid import ProgramId
from .pending import Call, call_of, copied_to_sbuf
from .regions import EVERYWHERE, Region
from .tensor import Tile
from .tokens import dtype_of, operator_token

_IDENTITIES = {
    "add": 0.0,
    "multiply": 1.0,
    "maximum": -np.inf,
    "minimum": np.inf,
    "logical_and": 1.0,
    "logical_or": 0.0,
}


def free_axes(tile: Tile, axis: Any, op: str) -> tuple[int, ...]:
    """``axis`` (an int or several) as the free dimensions that it names."""
    axes = _axes(len(tile.shape), tuple(axis) if isinstance(axis, (tuple, list)) else (axis,))
    if axes is None:
        raise KernelError("", f"'{op}' reduces free dimensions only: axis {axis} of a tile of shape {list(tile.shape)}")
    return axes


@lru_cache(4096)
def _axes(rank: int, given: tuple[Any, ...]) -> tuple[int, ...] | None:
    axes = tuple(sorted([int(a) + rank if a < 0 else int(a) for a in given]))
    return None if not axes or axes[0] < 1 or axes[-1] >= rank else axes


@lru_cache(4096)
def reduced_shape(shape: Shape, axes: tuple[int, ...], keepdims: bool) -> Shape:
    """The shape without ``axes``, but never with fewer than two dimensions."""
    if keepdims:
        return tuple([1 if d in axes else n for d, n in enumerate(shape)])
    kept = tuple([n for d, n in enumerate(shape) if d not in axes])
    return kept if len(kept) > 1 else (*kept, 1)


def kept_region(region: Region, axes: tuple[int, ...], tile: Tile, keepdims: bool) -> Region:
    """Where a reduced result is written: what the mask says about the dimensions that stay."""
    if region.rank != tile.ndim:
        if region.rank and any(region.mask_dimension(a, tile.ndim) in region.box for a in axes):
            raise NotModelled("a mask of another rank over a reduced dimension")
        return region
    if keepdims:
        return Region(region.rank, {d: i for d, i in region.box.items() if d not in axes}, (), region.skip)
    kept = region.without(axes)
    return kept if kept.rank > 1 else Region(2, kept.box, (), kept.skip)


def masked_view(call: Call, tile: Tile, op: str) -> View:
    """The operand with the identity of ``op`` where the mask ties several dimensions and excludes an element."""
    view = call.view(tile)
    chosen = call.region.where(view.array.shape)
    if chosen is None:
        return view
    if op not in _IDENTITIES:
        raise NotModelled(f"a mask that ties several dimensions on a reduction by '{op}'")
    values = np.where(chosen, to_float32(view.array), np.float32(_IDENTITIES[op]))
    return Computed(tile.alloc, values, view.place)


def tensor_reduce(
    op: Any,
    data: Any,
    axis: Any,
    *,
    mask: Any = None,
    dtype: Any = None,
    negate: bool = False,
    keepdims: bool = False,
    **_: Any,
) -> Tile:
    """Reduce the free dimensions ``axis`` of ``data`` in fp32, negate if asked, convert."""
    return _reduced(call_of("tensor_reduce", mask), operator_token(op), data, axis, dtype, negate, keepdims)


def _reduced(
    call: Call, op: str, data: Any, axis: Any, dtype: Any, negate: bool = False, keepdims: bool = False
) -> Tile:
    tile = call.source("data", data)
    axes = free_axes(tile, axis, call.op)
    shape = reduced_shape(tile.shape, axes, keepdims)
    default = tile.dtype if dtype is None else dtype_of(dtype)
    where = call.region
    if where is EVERYWHERE:
        view = call.view(tile)
    else:
        where = kept_region(where, axes, tile, keepdims)
        if call.region.skip:
            return call.give(None, shape, default, where=where)
        view = masked_view(call, tile, op)
    result = isa.tensor_reduce(op, view, axes, negate=negate, keepdims=keepdims)
    return call.give(result, shape, default, explicit=dtype is not None, where=where)


def reduction(name: str, op: str) -> Any:
    """``nl.sum`` and its relatives: ``f(x, axis, *, dtype=None, mask=None, keepdims=False)``."""

    def reduce(x: Any, axis: Any, *, dtype: Any = None, mask: Any = None, keepdims: bool = False, **_: Any) -> Tile:
        return _reduced(call_of(name, mask), op, x, axis, dtype, keepdims=keepdims)

    reduce.__name__ = name
    reduce.__doc__ = f"Reduce the free dimensions ``axis`` by '{op}'."
    return reduce


def all_true(x: Any, axis: Any, *, dtype: Any = bool, mask: Any = None, **_: Any) -> Tile:
    """Are all elements along the free dimensions ``axis`` true?"""
    return _reduced(call_of("all", mask), "logical_and", x, axis, dtype)


def mean(x: Any, axis: Any, *, dtype: Any = None, mask: Any = None, keepdims: bool = False, **_: Any) -> Tile:
    """Mean over the free dimensions ``axis``; of integers in fp32."""
    call = call_of("mean", mask)
    tile = call.source("x", x)
    default = FLOAT32 if is_integer(tile.dtype) else tile.dtype
    return _statistic(
        call, tile, axis, default if dtype is None else dtype_of(dtype), dtype is not None, keepdims, False
    )


def var(x: Any, axis: Any, *, dtype: Any = None, mask: Any = None, keepdims: bool = False, **_: Any) -> Tile:
    """Population variance over the free dimensions ``axis``."""
    call = call_of("var", mask)
    tile = call.source("x", x)
    default = FLOAT32 if is_integer(tile.dtype) else tile.dtype
    return _statistic(
        call, tile, axis, default if dtype is None else dtype_of(dtype), dtype is not None, keepdims, True
    )


def _statistic(
    call: Call, tile: Tile, axis: Any, dtype: np.dtype[Any], explicit: bool, keepdims: bool, squared: bool
) -> Tile:
    """Mean, or with ``squared`` the mean squared distance from the mean."""
    axes = free_axes(tile, axis, call.op)
    shape = reduced_shape(tile.shape, axes, keepdims)
    where = kept_region(call.region, axes, tile, keepdims)
    if call.region.skip:
        return call.give(None, shape, dtype, where=where)
    if call.region.residual:
        raise NotModelled(f"a mask that ties several dimensions on nl.{call.op}")
    view = call.view(tile)
    values = to_float32(view.array)
    count = np.float32(np.prod([values.shape[a] for a in axes]))
    average = reduce_axes("add", values, axes) / count
    if squared:
        average = reduce_axes("add", np.square(values - average), axes) / count
    cut = reduced_shape(values.shape, axes, keepdims)
    result = result_of(call.op, average.reshape(cut), (("data", view),), (("axes", axes),))
    return call.give(result, shape, dtype, explicit=explicit, where=where)


def softmax(x: Any, axis: Any, *, dtype: Any = None, compute_dtype: Any = None, mask: Any = None, **_: Any) -> Tile:
    """``exp(x - max) / sum(exp(x - max))`` over the free dimensions ``axis``."""
    call = call_of("softmax", mask)
    tile = call.source("x", x)
    axes = free_axes(tile, axis, call.op)
    _refuse_in_allocated(call)
    default = tile.dtype if dtype is None else dtype_of(dtype)
    if call.region.skip:
        return call.give(None, tile.shape, default)
    view = masked_view(call, tile, "maximum")
    values = to_float32(view.array)
    powers = isa.operators.ACTIVATIONS["exp"](values - reduce_axes("maximum", values, axes))
    result = result_of(call.op, powers / reduce_axes("add", powers, axes), (("data", view),), (("axes", axes),))
    return call.give(result, tile.shape, default, explicit=dtype is not None)


def rms_norm(
    x: Any,
    w: Any,
    axis: Any,
    n: Any,
    epsilon: float = 1e-06,
    *,
    dtype: Any = None,
    compute_dtype: Any = None,
    mask: Any = None,
    **_: Any,
) -> Tile:
    """``x / sqrt(sum(x * x, axis) / n + epsilon) * w``."""
    call = call_of("rms_norm", mask)
    tile, weight = call.source("x", x), call.source("w", w)
    axes = free_axes(tile, axis, call.op)
    _refuse_in_allocated(call)
    default = tile.dtype if dtype is None else dtype_of(dtype)
    if call.region.skip:
        return call.give(None, tile.shape, default)
    view, scale = masked_view(call, tile, "add"), call.view(weight)
    values = to_float32(view.array)
    total = reduce_axes("add", np.square(values), axes)
    inverse = isa.operators.ACTIVATIONS["rsqrt"](total / np.float32(n) + np.float32(epsilon))
    normed = values * inverse * to_float32(scale.array)
    result = result_of(
        call.op, normed, (("data", view), ("weight", scale)), (("n", float(n)), ("epsilon", float(epsilon)))
    )
    return call.give(result, tile.shape, default, explicit=dtype is not None)


def _refuse_in_allocated(call: Call) -> None:
    if call.state.allocated:
        raise KernelError(
            "", f"nl.{call.op} makes implicit tensors, which are not allowed in allocated NKI kernels (common error 2)"
        )


def tensor_partition_reduce(op: Any, data: Any, *, mask: Any = None, dtype: Any = None, **_: Any) -> Tile:
    """Reduce over the partitions: (P, F...) to (1, F...)."""
    call = call_of("tensor_partition_reduce", mask)
    tile = call.source("data", data)
    token = operator_token(op)
    shape = (1, *tile.shape[1:])
    default = tile.dtype if dtype is None else dtype_of(dtype)
    where = kept_region(call.region, (0,), tile, True)
    result = None if call.region.skip else isa.tensor_partition_reduce(token, masked_view(call, tile, token))
    return call.give(result, shape, default, explicit=dtype is not None, where=where)


def all_reduce(
    x: Any,
    op: Any,
    program_axes: Any,
    *,
    dtype: Any = None,
    mask: Any = None,
    parallel_reduce: bool = True,
    asynchronous: bool = False,
    **_: Any,
) -> Tile:
    """Reduce ``x`` over the programs of the grid along ``program_axes``: ints, or what ``program_id`` returned.

    Each of these programs receives the result. Two programs exchange their tiles, then compute with both.
    """
    call = call_of("all_reduce", mask)
    tile = call.source("x", x)
    token = operator_token(op)
    kind = tile.dtype if dtype is None else dtype_of(dtype)
    group = _group(call, program_axes)
    if len(group) == 1:
        result = None if call.region.skip else isa.copy("tensor_copy", call.view(tile))
        return call.give(result, tile.shape, kind, explicit=dtype is not None)
    if call.region.skip:
        return call.give(None, tile.shape, kind)
    if len(group) == 2:
        tile = copied_to_sbuf(call, tile) if tile.space == "psum" else tile
        received = _received(call, tile, group)
        result = isa.tensor_tensor(call.view(tile), received.view_in(EVERYWHERE), token)
        return call.give(result, tile.shape, kind, explicit=dtype is not None)
    view = call.view(tile)
    session = call.state.session
    values = call.state.ensemble.exchanged(session.program, group, to_float32(view.array).copy())
    if any(v.shape != values[0].shape for v in values):
        raise KernelError("", "the programs of an nl.all_reduce bring tiles of different shapes")
    reduced = reduce_axes(token, np.stack(values), (0,))[0]
    result = result_of("all_reduce", reduced, (("data", view),), (("op", token), ("programs", len(group))))
    return call.give(result, tile.shape, kind, explicit=dtype is not None)


def _received(call: Call, tile: Tile, group: tuple[tuple[int, ...], ...]) -> Tile:
    """What the other one of two programs sends in exchange for the part of ``tile`` that ``call`` works on."""
    exchange, view = call_of("sendrecv"), call.view(tile)
    here = group.index(call.state.session.program)
    sent = call.state.ensemble.exchanged(call.state.session.program, group, view.array.copy())
    if sent[0].shape != sent[1].shape:
        raise KernelError("", "the programs of an nl.all_reduce bring tiles of different shapes")
    result = isa.copy("sendrecv", view)
    result.values = sent[1 - here]
    result.attributes = (("send_to_rank", 1 - here), ("recv_from_rank", 1 - here), ("pipe_id", 0))
    exchange.note(result)
    call.reserve()
    return exchange.unnamed(result, view.array.shape, tile.dtype)


def _group(call: Call, program_axes: Any) -> tuple[tuple[int, ...], ...]:
    """The programs that differ from this one along ``program_axes`` only, in row-major order."""
    session = call.state.session
    axes = program_axes if isinstance(program_axes, (tuple, list)) else (program_axes,)
    numbers = {a.axis if isinstance(a, ProgramId) else int(a) for a in axes}
    if not numbers <= set(range(max(len(session.grid), 1))):
        raise KernelError("", f"nl.all_reduce over {list(axes)}: the launch grid has {len(session.grid)} dimensions")
    order = call.state.ensemble.order
    kept = [d for d in range(len(session.grid)) if d not in numbers]
    return tuple(p for p in order if all(p[d] == session.program[d] for d in kept))


__all__ = ["DTYPES", "all_reduce", "all_true", "free_axes", "kept_region", "masked_view", "mean", "reduced_shape"]
