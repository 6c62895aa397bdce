"""``t[idx] = value`` and ``t[idx] += value``.

Rounding. ``t[idx] = f(...)`` writes the engine's fp32 result into ``t[idx]``, rounded once to ``t.dtype``. When the
kernel gave ``f`` a ``dtype=`` that differs from ``t.dtype``, the result has a tile of that type first and is rounded
twice, but only where such an implicit tile may exist: a directly allocated ``t`` belongs to a kernel that has no
implicit tiles (direct allocation guide, common error 2), so its instruction writes ``t`` itself and rounds once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import isa
from ..errors import KernelError
from ..isa.core import Result
from ..memory import POISON, Computed
from ..numerics import to_float32
from .arithmetic import binary
from .base import Tensor
from .pending import Call, Pending, call_of, keep_waiting, number, store
from .regions import EVERYWHERE
from .tensor import Tile
from .tokens import PSUM, SBUF

_REPEATING = frozenset(("dma_copy", "tensor_copy", "memset", "iota"))
"""Instructions that repeat an element themselves, or that fill a place of any size."""


class Reduction(Pending):
    """``nl.loop_reduce(x, op, ...)``: the tile that it is assigned to is its other operand."""

    __slots__ = ("call", "operand", "operator")

    call: Call
    operand: Tile
    operator: str

    def settle(self) -> Tile:
        raise KernelError(
            "", "the result of nl.loop_reduce must be assigned to a tensor that is declared before the loop"
        )


def assign(dst: Tensor, value: Any) -> None:
    """``dst[...] = value``: a result that waits for its destination, another tile, or a number."""
    tile = dst if type(dst) is Tile else dst.as_tile()
    if tile.alloc.space == "hbm":
        raise _on_chip("destination of an assignment")
    if type(value) is Pending and value.waiting:
        rounded_first = value.explicit and value.dtype != tile.dtype
        by_tensor_engine = value.buffer is PSUM and tile.alloc.space == "sbuf"  # it writes PSUM only
        repeated = value.shape != tile.shape and _is_repeated(value, tile)
        if repeated and not rounded_first and value.buffer is SBUF:
            value.dtype = tile.dtype  # it is rounded once, in the tile from which a copy repeats it
        if (rounded_first or by_tensor_engine or repeated) and not tile.alloc.pinned:
            where = value.where
            _copy(tile, value.settle(), where)
            return
        _arrived(value)
        if tile.shape != value.shape:
            _check_fits(tile, value.shape)
        if value.result is not None:
            store(value.state, value.result, tile, value.where)
    elif isinstance(value, Reduction):
        _reduce(tile, value)
    elif isinstance(value, Tensor):
        source = value.as_tile()
        if not _same_place(tile, source):
            _copy(tile, source)
    else:
        call = call_of("memset")
        _check_fits(tile, ())
        scalar = number(value, "value", "assignment")
        call.write(isa.memset(tile.shape, scalar, tile.dtype), tile)


def _is_repeated(value: Pending, tile: Tile) -> bool:
    """Has a result one element where its destination has several, and does its instruction not repeat it?"""
    own, place = value.shape, tile.shape
    if len(own) != len(place) or value.where is not EVERYWHERE or value.result is None:
        return False
    if value.result.values.shape != own:  # its operands make more than the first of them has
        return False
    wider = any(n == 1 and m > 1 for n, m in zip(own[1:], place[1:], strict=True))
    return wider and own[0] == place[0] and value.result.op not in _REPEATING


def _arrived(value: Pending) -> None:
    """``value`` has its destination, which is written now."""
    waiting = value.state.pending
    waiting.discard(value)
    if waiting:
        keep_waiting(value.state)


def update(dst: Tensor, op: str, value: Any) -> Tensor:
    """``dst op= value``: accumulation for a matmul into PSUM, else read, compute and write. Returns ``dst``."""
    tile = dst if type(dst) is Tile else dst.as_tile()
    if tile.alloc.space == "hbm":
        raise _on_chip("destination of an assignment")
    if isinstance(value, Pending) and value.waiting and tile.alloc.space == "psum" and op == "add":
        result = value.result
        if result is None or result.accumulates:
            _arrived(value)
            if result is not None:
                if tile.shape != value.shape:
                    _check_fits(tile, value.shape)
                store(value.state, result, tile, value.where, overwrite=False)
            return dst
    call = call_of("tensor_tensor")
    result, shape = binary(call, op, tile, value, broadcast_partitions=False)
    _check_fits(tile, shape)
    if result is not None:
        call.write(result, tile)
    return dst


def _copy(tile: Tile, source: Tile, where: Any = None) -> None:
    if source.alloc.space == "hbm":
        raise _on_chip("source of an assignment")
    if source.gather is not None:
        raise KernelError(
            "err_copy_dynamic_indirect_indices_not_natively_supported",
            "copying indirect memory references is not natively supported; use nisa.tensor_copy_dynamic_src",
        )
    _check_fits(tile, source.shape)
    call = call_of("tensor_copy")
    source = call.source("value", source)
    if where is not None:
        call.region = where
    if not call.region.skip:
        call.write(isa.copy("tensor_copy", call.view(source)), tile)


def _reduce(tile: Tile, value: Reduction) -> None:
    call = value.call
    if call.region.skip:
        return
    result: Result | None
    result, shape = binary(call, value.operator, tile, value.operand, broadcast_partitions=False)
    _check_fits(tile, shape)
    if result is not None:
        _start(result, tile, value.operand)
        call.write(result, tile)


def _start(result: Result, tile: Tile, operand: Tile) -> None:
    """A float that nobody has written takes no part: the reduction starts with its first operand.

    ``blockwise_mm_bwd.py:400`` of nki-samples reduces into a tile that it only declares.
    """
    before = tile.array
    if before.dtype.kind not in "fV" or result.values.shape != before.shape:
        return
    raw = np.ascontiguousarray(before).view(np.uint8).reshape(*before.shape, before.dtype.itemsize)
    unwritten = (raw == POISON).all(-1)
    if unwritten.any():
        first = np.broadcast_to(to_float32(operand.array).reshape(operand.shape), before.shape)
        result.values = np.where(unwritten, first, result.values)
    if unwritten.all() and operand.alloc is not tile.alloc:
        views = ((role, view, view.alloc is tile.alloc) for role, view in result.reads)
        result.reads = tuple(
            (role, Computed(view.alloc, view.array, view.place, used=False) if own else view)
            for role, view, own in views
        )


def _same_place(a: Tile, b: Tile) -> bool:
    """``t[i] += x`` assigns the view it has just updated to its own place: nothing is left to do."""
    if a.alloc is not b.alloc or a.gather is not None or b.gather is not None:
        return False
    return (a.offset, a.shape, a.strides, a.dtype) == (b.offset, b.shape, b.strides, b.dtype)


def _on_chip(what: str) -> KernelError:
    return KernelError(
        "err_unsupported_memory",
        f"Expected {what} to be in address space 'psum|sbuf', but got a tile in 'hbm' instead.",
    )


def _check_fits(tile: Tile, shape: tuple[int, ...]) -> None:
    """The destination must have the shape of the result, or one that the result broadcasts to."""
    if not shape or tile.shape == shape:
        return
    there = [n for n in tile.shape if n != 1]
    given = [n for n in shape if n != 1]
    if there == given or _size(tile.shape) == _size(shape):
        return
    pairs = zip(reversed(tile.shape), reversed(shape), strict=False)
    if len(shape) > len(tile.shape) or any(n not in (1, m) for m, n in pairs):
        raise KernelError(
            "err_store_dst_shape_smaller_than_other_shape",
            f"Illegal assignment destination shape in 'a = b': shape {list(tile.shape)} of parameter 'a' is smaller "
            f"than other parameter shapes b{list(shape)}.",
        )


def _size(shape: tuple[int, ...]) -> int:
    size = 1
    for n in shape:
        size *= n
    return size
