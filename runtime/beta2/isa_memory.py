"""``nki.isa``: copies and DMA (2.28 signatures)."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from .. import isa, session
from ..errors import KernelError, NotModelled, SizesDiffer
from ..memory import Array, View
from ..numerics import convert, to_float32
from . import indirect, state, values
from .operands import deliver, on_chip, same_extent
from .patterns import OutOfBounds
from .signature import builtin
from .tensor import DynamicTensor, GatheredTensor, NkiTensor

_SKIP, _HARDWARE_DGE = values.OobMode.skip, values.DgeMode.hwdge
"""Members that are asked for in each copy: Python 3.11 takes long to find one in its class."""


@builtin("nki.isa")
def tensor_copy(dst: Any, src: Any, engine: Any = values.Engine.unknown, dtype: Any = None, name: Any = None) -> None:
    """Copy within SBUF and PSUM: the same bits where the types are equal, through fp32 where they differ.

    ``dtype`` is not documented. The vendor's tutorials give it to say what the numbers are cast to, also with a wider
    ``dst``: they are rounded to it on the way. A narrower ``dst`` rounds as it would without.
    """
    chosen = values.engine(engine)
    target, source = on_chip(dst, "dst"), on_chip(src, "src")
    same_extent("tensor_copy", ("dst", "src"), target, source)
    result = isa.copy("tensor_copy", source)
    result.engine = values.ENGINE_NAMES[chosen]
    if dtype is not None and values.data_type(dtype) not in (target.dtype, source.dtype):
        cast = values.data_type(dtype)
        result.values = convert(result.values, cast)
        result.attributes = (*result.attributes, ("dtype", cast.name))
    deliver(result, target)


@builtin("nki.isa")
def tensor_copy_dynamic_src(dst: Any, src: Any, engine: Any = values.Engine.unknown, name: Any = None) -> None:
    """:func:`tensor_copy` of an access with a dynamic offset."""
    tensor_copy(dst=dst, src=src, engine=engine)


@builtin("nki.isa")
def tensor_copy_dynamic_dst(dst: Any, src: Any, engine: Any = values.Engine.unknown, name: Any = None) -> None:
    """:func:`tensor_copy` to an access with a dynamic offset."""
    tensor_copy(dst=dst, src=src, engine=engine)


@builtin("nki.isa")
def dma_copy(
    dst: Any,
    src: Any,
    dst_rmw_op: Any = None,
    oob_mode: Any = values.OobMode.error,
    dge_mode: Any = values.DgeMode.unknown,
    unique_indices: Any = True,
    engine: Any = values.Engine.unknown,
    priority: Any = None,
    name: Any = None,
) -> None:
    """Copy between HBM and SBUF, row-major element by element; shapes may differ, numbers of elements may not."""
    values.member(values.DgeMode, dge_mode, "unsupported dge mode")
    skip = values.member(values.OobMode, oob_mode, "unsupported oob mode") is _SKIP
    if dge_mode is _HARDWARE_DGE:
        _check_conversion(dst, src)
    values.engine(engine)
    operator = None if dst_rmw_op is None else values.alu_operator(dst_rmw_op)
    if operator not in (None, "add"):
        raise KernelError("", "Unsupported operation")
    _check_memory("dma_copy", dst)
    _check_memory("dma_copy", src)
    if dst.array.size != src.array.size:
        raise SizesDiffer(
            "",
            f"dma_copy: src of shape {src.shape} has {src.array.size} elements, dst of shape {dst.shape} has "
            f"{dst.array.size}: the numbers must be equal",
        )
    if operator is not None and skip and _is_dynamic(dst, src):
        raise KernelError("", "dma_copy: with dst_rmw_op only oob_mode.error is allowed")
    try:
        _transfer(dst, src, operator, skip)
    except OutOfBounds:
        if not skip:
            raise


def _check_memory(instruction: str, tensor: object) -> None:
    """An operand is a tensor, and not in PSUM ("can be in HBM or SBUF", 2.28; the front end refuses it from 0.3 on)."""
    if not isinstance(tensor, NkiTensor):
        raise KernelError("", f"expecting tensor access, got '{values.kind(tensor)}'")
    if tensor.alloc.space == "psum":
        raise KernelError("", f"{instruction}: '{tensor.label}' is in PSUM, DMA accesses HBM and SBUF only")


def _check_conversion(dst: object, src: object) -> None:
    """From 0.3 on the hardware's descriptor engine moves bits only."""
    if state.rules().hardware_dge_casts:
        return
    if isinstance(dst, NkiTensor) and isinstance(src, NkiTensor) and dst.dtype != src.dtype:
        raise KernelError(
            "",
            f"dma_copy: dge_mode.hwdge does not convert {src.dtype.name} to {dst.dtype.name}: use another mode, or "
            "view one as the type of the other",
        )


def _is_dynamic(*tensors: NkiTensor) -> bool:
    return any(isinstance(tensor, (DynamicTensor, GatheredTensor)) for tensor in tensors)


def _transfer(dst: NkiTensor, src: NkiTensor, operator: str | None, skip: bool) -> None:
    if isinstance(dst, GatheredTensor) or isinstance(src, GatheredTensor):
        _indirect(dst, src, operator, skip)
        return
    target, source = dst.resolved(), src.resolved()
    result = isa.copy("dma_copy", source)
    shape = target.array.shape
    if result.values.shape != shape:
        result.values = result.values.reshape(shape)
    if operator is not None:
        result.values = to_float32(target.array) + to_float32(result.values)
        result.attributes = (("dst_rmw_op", operator),)
    isa.commit(session.current().machine, result, target)


@builtin("nki.isa")
def dma_transpose(
    dst: Any,
    src: Any,
    axes: Any = None,
    dge_mode: Any = values.DgeMode.unknown,
    oob_mode: Any = values.OobMode.error,
    priority: Any = None,
    name: Any = None,
) -> None:
    """Transpose by DMA: (3, 1, 2, 0) in four dimensions, which 0.2 wants; from 0.3 on also (1, 0) and (2, 1, 0)."""
    values.member(values.DgeMode, dge_mode, "unsupported dge mode")
    values.member(values.OobMode, oob_mode, "unsupported oob mode")
    _check_memory("dma_transpose", dst)
    _check_memory("dma_transpose", src)
    order = _transposed_order(dst, src, axes)
    if dst.dtype != src.dtype:
        raise KernelError("", f"dma_transpose: src is {src.dtype.name}, dst is {dst.dtype.name}: they must be equal")
    target = dst.resolved()
    if isinstance(src, GatheredTensor):
        src = _by_columns(src)
        array, source = _rows(src, src.shape[0], _rows_inside(src, skip=False)).reshape(src.shape), src.base
    else:
        source = src.resolved()
        array = source.array.reshape(src.shape)
    wanted = tuple(src.shape[axis] for axis in order)
    if wanted != dst.shape and not _is_padded(dst.shape, wanted):
        raise KernelError("", f"dma_transpose: src of shape {src.shape} gives {wanted}, dst has {dst.shape}")
    result = isa.result_of("dma_transpose", array.transpose(order).reshape(target.array.shape), (("src", source),))
    isa.commit(session.current().machine, result, target)


def _transposed_order(dst: NkiTensor, src: NkiTensor, axes: Any) -> tuple[int, ...]:
    """The dimensions of ``src`` in the order that ``dst`` has them in."""
    rank, ranks = len(src.shape), state.rules().transposed_ranks
    if ranks == (4,) and rank != 4:
        raise KernelError("", "source tensor must have 4 dimmensions")
    if ranks == (4,) and len(dst.shape) != 4:
        raise KernelError("", "destination tensor must have 4 dimmensions")
    order = {2: (1, 0), 3: (2, 1, 0), 4: (3, 1, 2, 0)}.get(rank)
    if rank not in ranks or order is None or (axes is not None and values.naturals(axes) != order):
        raise KernelError("", f"unsupported transpose operation: axes {axes} of a tensor of shape {src.shape}")
    return order


def _is_padded(shape: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    """Is ``shape`` the ``wanted`` one but for dimensions of extent 1 that it lacks? 0.3 adds these."""
    fewer = len(shape) < len(wanted) and [n for n in shape if n != 1] == [n for n in wanted if n != 1]
    return fewer and state.rules().pads_transposes


@builtin("nki.isa")
def dma_compute(
    dst: Any,
    srcs: Any,
    scales: Any = None,
    reduce_op: Any = None,
    unique_indices: Any = True,
    oob_mode: Any = values.OobMode.error,
    name: Any = None,
) -> None:
    """``dst = srcs[0] + srcs[1] + ...`` in fp32 by DMA; every scale is 1.0."""
    if values.member(values.OobMode, oob_mode, "unsupported oob mode") is _SKIP and not _is_dynamic(
        dst, *_listed(srcs)
    ):
        raise KernelError("", "dma_compute: oob_mode.skip is for indirect accesses only")
    operands = _listed(srcs)
    if not 1 <= len(operands) <= 16:
        raise KernelError("", f"dma_compute: srcs must be 1 to 16 tensors, got {len(operands)}")
    for tensor in (dst, *operands):
        _check_memory("dma_compute", tensor)
    if values.alu_operator(reduce_op) != "add":
        raise KernelError("", "dma_compute: reduce_op must be nl.add")
    if scales is not None and (len(scales) != len(operands) or any(values.number(scale) != 1 for scale in scales)):
        raise KernelError("", "dma_compute: scales must be 1.0 for each of srcs")
    if _is_dynamic(dst, *operands):
        raise NotModelled("dma_compute with dynamic addresses")
    target, sources = dst.resolved(), [operand.resolved() for operand in operands]
    for source in sources:
        if source.array.size != target.array.size:
            raise KernelError(
                "", f"dma_compute: a source has {source.array.size} elements, dst has {target.array.size}"
            )
    total = to_float32(sources[0].array).reshape(target.array.shape)
    for source in sources[1:]:
        total = total + to_float32(source.array).reshape(target.array.shape)
    reads = tuple((f"src{position}", source) for position, source in enumerate(sources))
    isa.commit(session.current().machine, isa.result_of("dma_compute", total, reads, (("op", "add"),)), target)


def _listed(srcs: Any) -> list[Any]:
    return [srcs] if isinstance(srcs, NkiTensor) else list(srcs)


def _by_columns(src: GatheredTensor) -> GatheredTensor:
    """``src`` whose indices count down the columns: "hardware uses column-major flattening" (2.29, dma_transpose)."""
    indices = src.indices.resolved()
    turned = NkiTensor(indices.alloc, indices.array.reshape(indices.array.shape[0], -1).T, label=indices.label)
    return GatheredTensor(src.base, src.steps, src.start, turned)


def _indirect(dst: NkiTensor, src: NkiTensor, operator: str | None, skip: bool) -> None:
    """Gather and scatter: rows of HBM tensors that a tensor of indices selects. Rows outside are skipped, or an
    error."""
    gathered = [side for side in (dst, src) if isinstance(side, GatheredTensor)]
    if any(sum(n != 1 for n in side.indices.array.shape) > 1 for side in gathered):
        raise NotModelled("dma_copy by indices in several rows and columns, whose order no document tells")
    rows = gathered[0].steps[0][1]
    inside: Array = np.ones(rows, np.bool_)
    for side in gathered:
        if side.steps[0][1] != rows:
            raise KernelError("", f"dma_copy: dst and src have {dst.shape[0]} and {src.shape[0]} indirect rows")
        inside = inside & _rows_inside(side, skip)
    moved = convert(_rows(src, rows, inside), dst.dtype)
    if isinstance(dst, GatheredTensor):
        starts = indirect.rows(dst)[0][inside]
        if operator is None:
            places = indirect.windows(dst, _writable(dst.base, dst.base.array.reshape(-1)))
            places[starts] = moved.reshape(len(starts), *places.shape[1:])
        else:
            numbers, whole = indirect.elements(dst, starts), _writable(dst.base, dst.base.array.reshape(-1))
            total = to_float32(whole).copy()
            np.add.at(total, numbers, to_float32(moved))
            whole[numbers] = convert(total[numbers], dst.dtype)
    elif operator is None and inside.all():
        target = _writable(dst, dst.resolved().array)
        target[...] = moved.reshape(target.shape)
    else:
        target = _writable(dst, dst.resolved().array)
        values_now = target.reshape(rows, -1).copy()
        values_now[inside] = (
            moved if operator is None else convert(to_float32(values_now[inside]) + to_float32(moved), dst.dtype)
        )
        target[...] = values_now.reshape(target.shape)
    _record_indirect(dst, src, operator)


def _writable(dst: NkiTensor, array: Array) -> Array:
    """``array``, which lies on ``dst``, to be written."""
    return array if dst.alloc.lent is None else dst.alloc.lent.writable(array)


def _rows_inside(side: GatheredTensor, skip: bool) -> Array:
    inside = indirect.rows(side)[1]
    if not skip and not inside.all():
        row = int(np.flatnonzero(~inside)[0])
        index = int(side.indices.resolved().array.reshape(-1)[row])
        raise KernelError("", f"dma_copy: index {index} of row {row} leaves a tensor of shape {side.base.shape}")
    return inside


def _rows(src: NkiTensor, rows: int, inside: Array) -> Array:
    """The elements of ``src``, one row of the indirect copy each, of those that are ``inside``."""
    if isinstance(src, GatheredTensor):
        starts = indirect.rows(src)[0][inside]
        return indirect.windows(src, src.base.array.reshape(-1))[starts].reshape(len(starts), prod(src.shape[1:]))
    return src.resolved().array.reshape(rows, -1)[inside]


def _record_indirect(dst: NkiTensor, src: NkiTensor, operator: str | None) -> None:
    """Record the copy; of an indirect access the tensor that it indexes."""
    machine = session.current().machine
    if machine.recorder is not None:
        sides = [
            (role, side.base if isinstance(side, GatheredTensor) else side.resolved())
            for role, side in (("dst", dst), ("src", src))
        ]
        attributes = () if operator is None else (("dst_rmw_op", operator),)
        indirect = tuple(role for role, side in (("dst", dst), ("src", src)) if isinstance(side, GatheredTensor))
        machine.recorder.add("dma_copy", list[tuple[str, View]](sides), attributes, partly=indirect)
