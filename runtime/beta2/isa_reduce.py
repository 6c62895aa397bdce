"""``nki.isa``: reductions and selections (2.28 signatures)."""

from __future__ import annotations

from functools import cache
from typing import Any

from .. import isa
from ..errors import KernelError, NotModelled
from ..spec.operators import BITWISE
from . import state, values
from .isa_compute import check_integers
from .operands import accumulate, deliver, deliver_with, immediate_or_column, lanes, on_chip, same_extent
from .signature import builtin
from .tensor import NkiTensor

_DIMS = ([4], [3, 4], [2, 3, 4], [1, 2, 3, 4])


def reduced_axes(data: NkiTensor, axis: object) -> tuple[int, ...]:
    """Axes of ``data.array`` that ``axis`` of ``tensor_reduce`` names.

    Beta 2 knows the hardware's free dimensions only: the integer 1 is the innermost one whatever the rank, and lists
    count from the innermost as dimension 4. 0.3 names the tensor's own axes.
    """
    rank = data.array.ndim
    if not state.rules().hardware_axes:
        listed = (values.integer(axis),) if isinstance(axis, int) else values.naturals(axis)
        named = _named(rank, data.dropped, listed)
        if named is None:
            raise KernelError("", f"tensor_reduce: axis {axis!r} must be the last free dimensions of the tensor")
        return named
    if isinstance(axis, int):
        if axis != 1:
            raise KernelError("", "not a valid dim")
        count = 1
    elif isinstance(axis, (list, tuple)) and [values.integer(a) for a in axis] in _DIMS:
        count = len(axis)
    else:
        raise KernelError("", "not a valid dim")
    axes = _innermost(rank, count)
    if data.dropped and any(d in axes for d in data.dropped):
        raise NotModelled("tensor_reduce over a dimension that an integer index has reduced")
    return axes


@cache
def _named(rank: int, dropped: tuple[int, ...], listed: tuple[int, ...]) -> tuple[int, ...] | None:
    """Those of ``rank`` dimensions that ``listed`` axes are, of a tensor that does not show ``dropped`` ones.

    ``None`` where they are not the last free dimensions.
    """
    visible = [d for d in range(rank) if d not in dropped or d == 0]
    axes = tuple(visible[a] for a in sorted(a % len(visible) for a in listed))
    return axes if axes and axes == tuple(range(rank - len(axes), rank)) and 0 not in axes else None


@cache
def _innermost(rank: int, count: int) -> tuple[int, ...]:
    """The last ``count`` of ``rank`` dimensions, as far as they are free ones."""
    return tuple(range(max(1, rank - count), rank))


@builtin("nki.isa")
def tensor_reduce(
    dst: Any, op: Any, data: Any, axis: Any, negate: Any = False, keepdims: Any = False, name: Any = None
) -> None:
    """Reduce the innermost free dimensions of ``data`` (see :func:`reduced_axes`) in fp32."""
    target, source = on_chip(dst, "dst"), on_chip(data, "data")
    operator = values.alu_operator(op)
    if operator in BITWISE:
        check_integers("tensor_reduce", source, target)
    axes = reduced_axes(source, axis)
    deliver(isa.tensor_reduce(operator, source, axes, negate=bool(negate), keepdims=bool(keepdims)), target)


@builtin("nki.isa")
def tensor_partition_reduce(dst: Any, op: Any, data: Any, name: Any = None) -> None:
    """Reduce over the partitions (GpSimd)."""
    target, source = on_chip(dst, "dst"), on_chip(data, "data")
    deliver(isa.tensor_partition_reduce(values.alu_operator(op), source), target)


@builtin("nki.isa")
def tensor_scalar_reduce(
    dst: Any,
    data: Any,
    op0: Any,
    operand0: Any,
    reduce_op: Any,
    reduce_res: Any = None,
    reverse0: Any = False,
    reduce_cmd: Any = values.ReduceCmd.reset_reduce,
    reduce_init: Any = None,
    reduce_res_negate: Any = False,
    name: Any = None,
) -> None:
    """:func:`tensor_scalar` with one operator, and the reduction of its result over the free dimensions."""
    command = values.reduce_command(reduce_cmd)
    if command in (values.ReduceCmd.idle, values.ReduceCmd.reset):
        raise KernelError("", f"tensor_scalar_reduce: reduce_cmd.{command.name} is not supported")
    if (reduce_init is None) == (command is values.ReduceCmd.load_reduce):
        raise KernelError("", "tensor_scalar_reduce: reduce_init belongs to reduce_cmd.load_reduce")
    target, source = on_chip(dst, "dst"), on_chip(data, "data")
    operator, reduction = values.alu_operator(op0), values.alu_operator(reduce_op)
    if operator in BITWISE:
        raise KernelError("", "tensor_scalar_reduce: bitvec operators are not supported")
    operand = immediate_or_column(operand0, source, "operand0")
    result = isa.tensor_scalar(source, operator, operand, bool(reverse0))
    reduced = isa.reductions.reduce_free(reduction, result.values)
    result.op = "tensor_scalar_reduce"
    result.attributes = (*result.attributes, ("reduce_op", reduction))
    registers = state.current().accumulators["vector"][lanes(source)]
    if reduce_init is not None:
        start = immediate_or_column(reduce_init, source, "reduce_init")
        reads, numbers = isa.said(("reduce_init", start))
        result.reads, result.attributes = (*result.reads, *reads), (*result.attributes, *numbers)
        registers[...] = isa.elementwise.per_partition(start, 2)
    if command is values.ReduceCmd.reset_reduce:
        registers[...] = reduced
    else:
        result.attributes = (*result.attributes, ("reduce_cmd", command.name))
        accumulate(registers, values.ReduceCmd.reduce, reduction, reduced, 0.0)
    reduced = -registers if reduce_res_negate else registers.copy()
    if reduce_res_negate:
        result.attributes = (*result.attributes, ("reduce_res_negate", True))
    deliver_with(result, target, "reduce_res", reduce_res, reduced)


@builtin("nki.isa")
def tensor_copy_predicated(dst: Any, src: Any, predicate: Any, reverse_pred: Any = False, name: Any = None) -> None:
    """Copy ``src`` (tensor or number) to ``dst`` where ``predicate`` is not 0; the rest of ``dst`` keeps its values."""
    target, chosen = on_chip(dst, "dst"), on_chip(predicate, "predicate")
    same_extent("tensor_copy_predicated", ("dst", "predicate"), target, chosen)
    if chosen.dtype.name not in ("uint8", "uint16", "uint32"):
        raise KernelError(
            "", f"tensor_copy_predicated: predicate must be uint8, uint16 or uint32, not {chosen.dtype.name}"
        )
    where = (chosen.array != 0) != bool(reverse_pred)
    if isinstance(src, NkiTensor):
        source = on_chip(src, "src")
        same_extent("tensor_copy_predicated", ("dst", "src"), target, source)
        if source.dtype != target.dtype:
            raise KernelError(
                "",
                f"tensor_copy_predicated: src is {source.dtype.name}, dst is {target.dtype.name}: they must be equal",
            )
        result = isa.copy("tensor_copy_predicated", source)
    else:
        result = isa.memset(target.array.shape, values.number(src), target.dtype)
        result.op = "tensor_copy_predicated"
    result.reads = (*result.reads, ("predicate", chosen))
    if reverse_pred:
        result.attributes = (*result.attributes, ("reverse_pred", True))
    deliver(result, target, where=where)
