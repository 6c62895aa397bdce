"""A result on its way into its destination."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import KernelError
from ..machine import Machine
from ..memory import Array, View
from ..numerics import FLOAT32, convert, is_integer, to_float32
from .access import check
from .result import Result, result_of

__all__ = ["Result", "commit", "fit", "keep", "owned", "recorded", "repeated", "result_of", "rounded"]


def said(*operands: tuple[str, View | float | int]) -> tuple[tuple[tuple[str, View], ...], tuple[tuple[str, Any], ...]]:
    """What an instruction reads, and what numbers it is given, of operands that may be either."""
    reads = tuple((role, value) for role, value in operands if isinstance(value, View))
    return reads, tuple((role, float(value)) for role, value in operands if not isinstance(value, View))


def commit(
    machine: Machine, result: Result, dst: View, where: Array | None = None, accumulate: bool | None = None
) -> None:
    """Round ``result`` into ``dst`` and record the instruction.

    ``where`` (broadcastable to ``dst``) restricts the write. ``accumulate``, for results that accumulate: ``True``
    adds to elements whose group is open and overwrites the others (PSUM semantics), ``False`` overwrites and opens
    the group. ``None`` means ``True`` for matmul into PSUM. The event says what happened, not what was asked for:
    ``accumulate`` is whether elements were added to (``"partly"`` when only some were). Raises :class:`KernelError`
    when the result does not fit ``dst``, or the instruction is illegal where its operands lie (:mod:`.access`).
    """
    check(machine, result, dst)
    target = dst.array
    if dst.alloc.lent is not None:
        target = dst.alloc.lent.writable(target)
    values = result.values
    if values.shape != target.shape:
        values = fit(values, target.shape)
    attributes = result.attributes
    if result.accumulates and dst.alloc.space == "psum":
        values, added = _accumulated(dst, values, accumulate is not False, where is None)
        attributes = (*attributes, ("accumulate", added))
        dst.alloc.set_group(target, True, where)
    if result.truncates and is_integer(target.dtype):
        values = np.trunc(values)
    if values.dtype is not target.dtype:
        values = convert(values, target.dtype)
    if where is not None:
        np.copyto(target, values, where=np.broadcast_to(where, target.shape))
    elif values is not target:
        target[...] = values
    if machine.recorder is not None:
        repeats = result.op in ("tensor_copy", "dma_copy") and result.values.size != target.size
        shape = result.values.shape
        reads = (
            [(role, repeated(view, shape, target.shape)) for role, view in result.reads] if repeats else result.reads
        )
        operands = [("dst", dst), *result.also_writes, *reads]
        partly = () if where is None else ("dst",)
        machine.recorder.add(result.op, operands, attributes, result.sequence, result.location, partly, result.restarts)


def rounded(result: Result, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """The values of ``result`` as they are written to memory of ``shape`` and type ``dtype``."""
    values = result.values
    if values.shape != shape:
        values = fit(values, shape)
    if result.truncates and is_integer(dtype):
        values = np.trunc(values)
    return values if values.dtype is dtype else convert(values, dtype)


def owned(values: Array) -> Array:
    """``values`` as an array that can become the memory of a tile: itself, or a copy.

    It is contiguous, and no other array's: an operand of Beta 1, whose results may wait, is always a view on the memory
    of a tensor, so that an array that has no base is not one.
    """
    return values if values.base is None and values.flags.c_contiguous else values.copy()


def keep(result: Result) -> None:
    """Let ``result`` wait: values that lie in the memory of an operand are copied."""
    values = result.values
    base = values.base
    if base is None or result.accumulates:  # a product is always computed
        return
    for _, view in result.reads:
        if view.array.base is base or np.may_share_memory(values, view.array):
            result.values = values.copy()
            return


def recorded(machine: Machine, result: Result, dst: View) -> None:
    """Record ``result``, which ``dst`` holds already."""
    if machine.recorder is not None:
        operands = [("dst", dst), *result.also_writes, *result.reads]
        machine.recorder.add(result.op, operands, result.attributes, result.sequence, result.location)


def _accumulated(dst: View, values: Array, adds: bool, everywhere: bool) -> tuple[Array, bool | str]:
    """``values``, added to what is in ``dst`` where its group is open (and ``adds``); and whether anything was added.

    Where all of ``dst`` is added to and written, it is done in place, and ``dst`` itself is returned.
    """
    target = dst.array
    complete = dst.alloc.in_one_group(target) if adds else False
    if complete is None:
        flags = dst.alloc.group_flags(target)
        opened = int(np.count_nonzero(flags))
        if 0 < opened < flags.size:
            return np.where(flags, to_float32(target) + values, values), "partly"
        complete = opened > 0
    if not complete:
        return values, False
    if everywhere and target.dtype == FLOAT32:
        return np.add(target, values, out=target), True
    return to_float32(target) + values, True


def repeated(view: View, given: tuple[int, ...], shape: tuple[int, ...]) -> View:
    """The source of a copy as the engine reads it when the destination of ``shape`` is larger: again and again.

    ``given`` is the shape that the source has as a tile: a column of a tensor in HBM has a dimension less.
    """
    return view.reading(np.broadcast_to(view.array.reshape(given), shape))


def fit(values: Array, shape: tuple[int, ...]) -> Array:
    """``values`` with ``shape``: equal element counts are reshaped row by row, extents of 1 broadcast."""
    if values.size == int(np.prod(shape)) and values.shape[:1] == shape[:1]:
        return values.reshape(shape)
    squeezed = [n for n in values.shape if n != 1]
    if values.size == int(np.prod(shape)) and squeezed == [n for n in shape if n != 1]:
        return values.reshape(shape)
    try:
        return np.broadcast_to(values, shape)
    except ValueError:
        raise KernelError(
            "err_store_dst_shape_smaller_than_other_shape",
            f"Illegal shape in assignment destination: result of shape {values.shape} does not fit destination of "
            f"shape {shape}",
        ) from None
