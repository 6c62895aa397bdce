"""``nki.isa``: element by element instructions of the Scalar, Vector and GpSimd Engines (2.28 signatures)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import isa
from ..affine import affine
from ..errors import KernelError
from ..numerics import is_integer
from ..spec.instructions import GPSIMD_OPERATORS
from ..spec.operators import BITWISE
from . import state, values
from .operands import (
    accumulate,
    deliver,
    deliver_with,
    immediate_or_column,
    lanes,
    on_chip,
    same_extent,
)
from .signature import builtin
from .tensor import NkiTensor

ReduceCmd, ENGINE_NAMES = values.ReduceCmd, values.ENGINE_NAMES
_IDLE = ReduceCmd.idle
"""Asked for in each activation: Python 3.11 takes long to find a member in its class."""


@builtin("nki.isa")
def activation(
    dst: Any,
    op: Any,
    data: Any,
    bias: Any = None,
    scale: Any = 1.0,
    reduce_op: Any = None,
    reduce_res: Any = None,
    reduce_cmd: Any = ReduceCmd.idle,
    name: Any = None,
) -> None:
    """``dst = op(data * scale + bias)`` in fp32, and optionally its sum over the free dimensions."""
    _activate("activation", dst, op, data, bias, scale, reduce_op, reduce_res, values.reduce_command(reduce_cmd))


@builtin("nki.isa")
def activation_reduce(
    dst: Any,
    op: Any,
    data: Any,
    reduce_op: Any = None,
    reduce_res: Any = None,
    bias: Any = None,
    scale: Any = 1.0,
    name: Any = None,
) -> None:
    """:func:`activation` that resets the accumulators, reduces and reads them into ``reduce_res``."""
    if isinstance(scale, NkiTensor):
        raise KernelError("", "scale can't be specified as tensor")
    _activate("activation_reduce", dst, op, data, bias, scale, reduce_op, reduce_res, ReduceCmd.reset_reduce)


def _activate(
    instruction: str,
    dst: Any,
    op: Any,
    data: Any,
    bias: Any,
    scale: Any,
    reduce_op: Any,
    reduce_res: Any,
    command: values.ReduceCmd,
) -> None:
    target, source = on_chip(dst, "dst"), on_chip(data, "data")
    function = values.activation_function(op)
    column = None if bias is None else _bias(bias, source)
    factor = immediate_or_column(scale, source, "scale")
    reduction = None if reduce_op is None else values.alu_operator(reduce_op)
    if reduction not in (None, "add"):
        raise KernelError("", f"{instruction}: reduce_op must be nl.add, got '{reduction}'")
    result, reduced = isa.activation(function, source, bias=column, scale=factor, reduce_op=reduction, name=instruction)
    same_extent(instruction, ("dst", "data"), target, source)
    if command is _IDLE and reduce_res is None:
        deliver(result, target)
        return
    registers = state.current().accumulators["scalar"][lanes(source)]
    accumulate(registers, command, "add", reduced, 0.0)
    if command is not _IDLE and instruction == "activation":
        result.attributes = (*result.attributes, ("reduce_cmd", command.name))
    deliver_with(result, target, "reduce_res", reduce_res, registers.copy())


def _bias(bias: Any, data: NkiTensor) -> Any:
    if not isinstance(bias, NkiTensor):
        raise KernelError("", f"expecting tensor access, got '{values.kind(bias)}'")
    column = on_chip(bias, "bias")
    if column.array.size != column.array.shape[0]:
        partitions, *free = column.shape
        raise KernelError("", f"bias shape ({partitions}x{free}) must be Nx1")
    return immediate_or_column(bias, data, "bias")


@builtin("nki.isa")
def reciprocal(dst: Any, data: Any, name: Any = None) -> None:
    """``dst = 1 / data`` in fp32 (Vector Engine)."""
    target, source = on_chip(dst, "dst"), on_chip(data, "data")
    deliver(isa.reciprocal(source), target)


@builtin("nki.isa")
def tensor_scalar(
    dst: Any,
    data: Any,
    op0: Any,
    operand0: Any,
    reverse0: Any = False,
    op1: Any = None,
    operand1: Any = None,
    reverse1: Any = False,
    engine: Any = values.Engine.unknown,
    name: Any = None,
) -> None:
    """``dst = (data op0 operand0) op1 operand1``, operands being numbers or (P, 1) tensors."""
    chosen = values.engine(engine)
    target, source = on_chip(dst, "dst"), on_chip(data, "data")
    first = values.alu_operator(op0)
    second = None if op1 is None else values.alu_operator(op1)
    if second is not None and (first in BITWISE) != (second in BITWISE):
        raise KernelError("", "tensor_scalar: op0 and op1 must both be bitvec or both be arithmetic operators")
    if (second is None) != (operand1 is None):
        raise KernelError("", "tensor_scalar: op1 and operand1 are given together or not at all")
    if first in BITWISE or second in BITWISE:
        check_integers("tensor_scalar", source, target)
    left = immediate_or_column(operand0, source, "operand0")
    right = None if operand1 is None else immediate_or_column(operand1, source, "operand1")
    result = isa.tensor_scalar(source, first, left, bool(reverse0), second, right, bool(reverse1))
    result.engine = ENGINE_NAMES[chosen]
    deliver(result, target)


def check_integers(instruction: str, *tiles: NkiTensor) -> None:
    """Bitvec operators work on bits: operands and destination must be integers."""
    for tensor in tiles:
        if not is_integer(tensor.dtype):
            raise KernelError(
                "", f"{instruction}: bitvec operators need integer tensors, '{tensor.label}' is {tensor.dtype.name}"
            )


@builtin("nki.isa")
def tensor_tensor(
    dst: Any, data1: Any, data2: Any, op: Any, engine: Any = values.Engine.unknown, name: Any = None
) -> None:
    """``dst = data1 op data2``; equal partitions and elements a partition."""
    chosen = values.engine(engine)
    target, left, right = on_chip(dst, "dst"), on_chip(data1, "data1"), on_chip(data2, "data2")
    operator = values.alu_operator(op)
    same_extent("tensor_tensor", ("data1", "data2"), left, right)
    if operator in BITWISE:
        check_integers("tensor_tensor", left, right, target)
    result = isa.tensor_tensor(left, right, operator)
    result.engine = "gpsimd" if operator in GPSIMD_OPERATORS else ENGINE_NAMES[chosen]
    deliver(result, target)


@builtin("nki.isa")
def scalar_tensor_tensor(
    dst: Any,
    data: Any,
    op0: Any,
    operand0: Any,
    op1: Any,
    operand1: Any,
    reverse0: Any = False,
    reverse1: Any = False,
    name: Any = None,
) -> None:
    """``dst = (data op0 operand0) op1 operand1``, ``operand1`` as large as ``data``."""
    target, source, other = on_chip(dst, "dst"), on_chip(data, "data"), on_chip(operand1, "operand1")
    same_extent("scalar_tensor_tensor", ("data", "operand1"), source, other)
    first, second = values.alu_operator(op0), values.alu_operator(op1)
    if first in BITWISE or second in BITWISE:
        raise KernelError("", "scalar_tensor_tensor: bitvec operators are not supported")
    left = immediate_or_column(operand0, source, "operand0")
    deliver(isa.scalar_tensor_tensor(source, first, left, second, other, bool(reverse0), bool(reverse1)), target)


@builtin("nki.isa")
def tensor_tensor_scan(
    dst: Any,
    data0: Any,
    data1: Any,
    initial: Any,
    op0: Any,
    op1: Any,
    reverse0: Any = False,
    reverse1: Any = False,
    name: Any = None,
) -> None:
    """``dst[i] = op1(op0(data0[i], dst[i - 1]), data1[i])`` along the free dimension, ``initial`` before the first."""
    target, left, right = on_chip(dst, "dst"), on_chip(data0, "data0"), on_chip(data1, "data1")
    same_extent("tensor_tensor_scan", ("data0", "data1"), left, right)
    start = immediate_or_column(initial, left, "initial")
    first, second = values.alu_operator(op0), values.alu_operator(op1)
    deliver(isa.tensor_tensor_scan(left, right, start, first, second, bool(reverse0), bool(reverse1)), target)


@builtin("nki.isa")
def memset(dst: Any, value: Any, engine: Any = values.Engine.unknown, name: Any = None) -> None:
    """Fill ``dst`` with a compile-time constant."""
    chosen = values.engine(engine)
    target = on_chip(dst, "dst")
    immediate = values.number(value)
    array = target.array
    if isinstance(immediate, float) and is_integer(array.dtype) and not state.rules().memset_casts:
        raise KernelError("", f"memset: value must be an integer for a tensor of type {array.dtype.name}")
    result = isa.memset(array.shape, immediate, array.dtype)
    result.engine = ENGINE_NAMES[chosen]
    deliver(result, target)


@builtin("nki.isa")
def iota(dst: Any, pattern: Any, offset: Any = 0, channel_multiplier: Any = 0, name: Any = None) -> None:
    """``dst[p, ...] = offset + p * channel_multiplier + sum(i_k * step_k)``, computed in int32."""
    target = on_chip(dst, "dst")
    numbers, attributes = affine_values("iota", target, pattern, offset, channel_multiplier)
    deliver(isa.iota(numbers, attributes), target)


def affine_values(
    instruction: str, dst: NkiTensor, pattern: Any, offset: Any, channel_multiplier: Any
) -> tuple[Any, tuple[tuple[str, Any], ...]]:
    """Value of the affine expression at each element of ``dst``, and the attributes that describe it."""
    steps = values.pairs(pattern)
    if len(steps) > 4:
        raise KernelError("", f"{instruction}: a pattern has at most 4 [step, num] pairs, got {len(steps)}")
    start, multiplier = values.integer(offset), values.integer(channel_multiplier)
    partitions = dst.array.shape[0]
    extents = partitions, *(count for _, count in steps)
    numbers = affine(start, extents, (multiplier, *(step for step, _ in steps)))
    steps = tuple((step, count) for step, count in steps if count != 1)
    return numbers, (("pattern", steps), ("offset", start), ("channel_multiplier", multiplier if partitions > 1 else 0))


@builtin("nki.isa")
def affine_select(
    dst: Any,
    pattern: Any,
    on_true_tile: Any,
    on_false_value: Any,
    offset: Any = 0,
    channel_multiplier: Any = 0,
    cmp_op: Any = "equal",
    name: Any = None,
) -> None:
    """``dst = on_true_tile`` where ``cmp_op(affine value, 0)``, ``on_false_value`` elsewhere (GpSimd, SBUF only)."""
    target, source = on_chip(dst, "dst"), on_chip(on_true_tile, "on_true_tile")
    for tensor, role in ((target, "dst"), (source, "on_true_tile")):
        if tensor.alloc.space != "sbuf":
            raise KernelError("", f"affine_select: {role} must be in SBUF")
    same_extent("affine_select", ("dst", "on_true_tile"), target, source)
    numbers, attributes = affine_values("affine_select", target, pattern, offset, channel_multiplier)
    compare = values.alu_operator(cmp_op)
    if numbers.size != source.array.size:
        raise KernelError("", f"affine_select: the pattern has {numbers.size} elements, dst has {target.array.size}")
    chosen = isa_compare(compare, numbers).reshape(source.array.shape)
    described = (*attributes, ("cmp_op", compare))
    deliver(isa.affine_select(chosen, source, float(values.number(on_false_value)), described), target)


_COMPARE = {
    "equal": np.equal,
    "not_equal": np.not_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "less": np.less,
    "less_equal": np.less_equal,
}


def isa_compare(operator: str, numbers: Any, other: Any = 0) -> Any:
    """``numbers operator other`` as booleans."""
    if operator not in _COMPARE:
        raise KernelError("", f"expecting a comparison operator, got '{operator}'")
    return _COMPARE[operator](numbers, other)
