"""``nki.isa``: copies and DMA (2.28 signatures)."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from .. import isa, session
from ..errors import KernelError
from ..memory import Array, View
from ..numerics import convert, to_float32
from . import state, values
from .operands import deliver, on_chip, same_extent
from .patterns import DynamicTensor, GatheredTensor, OutOfBounds
from .signature import builtin
from .tensor import NkiTensor


@builtin("nki.isa")
def tensor_copy(dst: Any, src: Any, engine: Any = values.Engine.unknown, dtype: Any = None, name: Any = None) -> None:
    """Copy within SBUF and PSUM: the same bits where the types are equal, through fp32 where they differ."""
    chosen = values.engine(engine)
    target, source = on_chip(dst, "dst"), on_chip(src, "src")
    same_extent("tensor_copy", dst=target, src=source)
    if dtype is not None:
        if state.current().version != state.BETA2:
            raise KernelError("", "unexpected keyword argument 'dtype' in builtin function 'tensor_copy'")
        if values.data_type(dtype) != target.dtype:
            raise KernelError("", f"tensor_copy: dtype= must be the type of dst, {target.dtype.name}")
    if chosen is values.Engine.gpsimd and "psum" in (target.alloc.space, source.alloc.space):
        raise KernelError("", "tensor_copy: the GpSimd Engine cannot access PSUM")
    deliver(isa.copy("tensor_copy", source), target)


@builtin("nki.isa")
def dma_copy(
    dst: Any,
    src: Any,
    dst_rmw_op: Any = None,
    oob_mode: Any = values.OobMode.error,
    dge_mode: Any = values.DgeMode.unknown,
    unique_indices: Any = True,
    name: Any = None,
) -> None:
    """Copy between HBM and SBUF, row-major element by element; shapes may differ, numbers of elements may not."""
    mode = values.member(values.OobMode, oob_mode, "unsupported oob mode")
    values.member(values.DgeMode, dge_mode, "unsupported dge mode")
    operator = None if dst_rmw_op is None else values.alu_operator(dst_rmw_op)
    if operator not in (None, "add"):
        raise KernelError("", "Unsupported operation")
    for value in (dst, src):
        if not isinstance(value, NkiTensor):
            raise KernelError("", f"expecting tensor access, got '{values.kind(value)}'")
    if prod(dst.array.shape) != prod(src.array.shape):
        raise KernelError(
            "",
            f"dma_copy: src of shape {src.shape} has {prod(src.array.shape)} elements, dst of shape {dst.shape} has "
            f"{prod(dst.array.shape)}: the numbers must be equal",
        )
    if operator is not None and mode is values.OobMode.skip and _is_dynamic(dst, src):
        raise KernelError("", "dma_copy: with dst_rmw_op only oob_mode.error is allowed")
    try:
        _transfer(dst, src, operator, mode is values.OobMode.skip)
    except OutOfBounds:
        if mode is not values.OobMode.skip:
            raise


def _is_dynamic(*tensors: NkiTensor) -> bool:
    return any(isinstance(tensor, (DynamicTensor, GatheredTensor)) for tensor in tensors)


def _transfer(dst: NkiTensor, src: NkiTensor, operator: str | None, skip: bool) -> None:
    if isinstance(dst, GatheredTensor) or isinstance(src, GatheredTensor):
        _indirect(dst, src, operator, skip)
        return
    target, source = dst.resolved(), src.resolved()
    result = isa.copy("dma_copy", source)
    result.values = result.values.reshape(target.array.shape)
    if operator is not None:
        result.values = to_float32(target.array) + to_float32(result.values)
        result.attributes = (("dst_rmw_op", operator),)
    isa.commit(session.current().machine, result, target)


def _indirect(dst: NkiTensor, src: NkiTensor, operator: str | None, skip: bool) -> None:
    """Gather and scatter: rows of HBM tensors that a tensor of indices selects. Rows outside are skipped, or an
    error."""
    gathered = [side for side in (dst, src) if isinstance(side, GatheredTensor)]
    rows = gathered[0].steps[0][1]
    inside: Array = np.ones(rows, np.bool_)
    for side in gathered:
        if side.steps[0][1] != rows:
            raise KernelError("", f"dma_copy: dst and src have {dst.shape[0]} and {src.shape[0]} indirect rows")
        inside = inside & _rows_inside(side, skip)
    moved = convert(_rows(src, rows)[inside], dst.dtype)
    if isinstance(dst, GatheredTensor):
        places = dst.elements()[0].reshape(rows, -1)[inside]
        whole = dst.base.array.reshape(-1)
        if operator is not None:
            total = to_float32(whole).copy()
            np.add.at(total, places, to_float32(moved))
            moved = convert(total[places], dst.dtype)
        whole[places] = moved
    else:
        target = dst.resolved().array
        values_now = target.reshape(rows, -1).copy()
        values_now[inside] = (
            moved if operator is None else convert(to_float32(values_now[inside]) + to_float32(moved), dst.dtype)
        )
        target[...] = values_now.reshape(target.shape)
    _record_indirect(dst, src, operator)


def _rows_inside(side: GatheredTensor, skip: bool) -> Array:
    inside = side.elements()[1]
    if not skip and not inside.all():
        row = int(np.flatnonzero(~inside)[0])
        index = int(side.indices.resolved().array.reshape(-1)[row])
        raise KernelError("", f"dma_copy: index {index} of row {row} leaves a tensor of shape {side.base.shape}")
    return inside


def _rows(src: NkiTensor, rows: int) -> Array:
    """The elements of ``src``, one row of the indirect copy each."""
    if isinstance(src, GatheredTensor):
        return src.base.array.reshape(-1)[src.elements()[0]].reshape(rows, -1)
    return src.resolved().array.reshape(rows, -1)


def _record_indirect(dst: NkiTensor, src: NkiTensor, operator: str | None) -> None:
    """Record the copy; of an indirect access the tensor that it indexes."""
    machine = session.current().machine
    if machine.recorder is not None:
        sides = [
            (role, side.base if isinstance(side, GatheredTensor) else side.resolved())
            for role, side in (("dst", dst), ("src", src))
        ]
        attributes = () if operator is None else (("dst_rmw_op", operator),)
        machine.recorder.add("dma_copy", list[tuple[str, View]](sides), attributes)
