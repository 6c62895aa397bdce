"""``nki.isa``: selections, scans and exponentials with the Vector Engine's accumulators (2.28 signatures)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import isa, session
from ..errors import KernelError
from ..isa import search
from ..isa.operators import ACTIVATIONS, apply_alu
from ..isa.reductions import reduce_free
from ..memory import Array, View
from ..numerics import to_float32
from . import state, values
from .operands import accumulate, deliver_with, immediate_or_column, lanes, not_both_in_psum, on_chip, same_extent
from .signature import builtin
from .tensor import NkiTensor

ReduceCmd = values.ReduceCmd
FP32_MIN = -3.4028235e38
_NEUTRAL = {"add": 0.0, "subtract": 0.0, "multiply": 1.0, "maximum": -np.inf, "minimum": np.inf}


def needs_core(instruction: str, version: int) -> None:
    """Raise unless the target is NeuronCore ``version`` or later."""
    target = session.current().machine.target
    if target.version < version:
        raise KernelError("", f"{instruction} needs NeuronCore-v{version} or later, {target.name} is v{target.version}")


def _maximum(
    result: isa.Result, dst: NkiTensor, command: ReduceCmd, reduce_op: object, reduce_res: object, told: bool
) -> None:
    """Deliver ``result`` and keep the running maximum of its rows; ``told``: the command belongs to the event."""
    if reduce_op is not None and values.alu_operator(reduce_op) != "maximum":
        raise KernelError("", f"{result.op}: reduce_op must be nl.maximum")
    registers = state.current().accumulators["vector"][lanes(dst)]
    accumulate(registers, command, "maximum", reduce_free("maximum", result.values), -np.inf)
    if told:
        result.attributes = (*result.attributes, ("reduce_cmd", command.name))
    deliver_with(result, dst, "reduce_res", reduce_res, registers.copy())


@builtin("nki.isa")
def range_select(
    dst: Any,
    on_true_tile: Any,
    comp_op0: Any,
    comp_op1: Any,
    bound0: Any,
    bound1: Any,
    reduce_cmd: Any = ReduceCmd.reset_reduce,
    reduce_res: Any = None,
    reduce_op: Any = "maximum",
    range_start: Any = 0.0,
    on_false_value: Any = FP32_MIN,
    name: Any = None,
) -> None:
    """``on_true_tile`` where ``range_start`` plus the free index satisfies both comparisons, else ``on_false_value``.

    0.2 ignores ``reduce_cmd`` and ``on_false_value``: it always resets, reduces, and fills with the fp32 minimum.
    """
    needs_core("range_select", 3)
    target, source = on_chip(dst, "dst"), on_chip(on_true_tile, "on_true_tile")
    same_extent("range_select", ("dst", "on_true_tile"), target, source)
    limits: list[View] = []
    for name_, bound in (("bound0", bound0), ("bound1", bound1)):
        column = immediate_or_column(on_chip(bound, name_), source, name_)
        assert isinstance(column, View)
        limits.append(column)
    command, filler = values.reduce_command(reduce_cmd), float(values.number(on_false_value))
    if state.rules().range_select_is_fixed:
        command, filler = ReduceCmd.reset_reduce, FP32_MIN
    ops = (values.alu_operator(comp_op0), values.alu_operator(comp_op1))
    start = float(values.number(range_start))
    result = search.range_select(source, ops, (limits[0], limits[1]), start, filler)
    told = command is not ReduceCmd.idle and reduce_res is not None
    _maximum(result, target, command, reduce_op, reduce_res, told)


@builtin("nki.isa")
def select_reduce(
    dst: Any,
    predicate: Any,
    on_true: Any,
    on_false: Any,
    reduce_res: Any = None,
    reduce_cmd: Any = ReduceCmd.idle,
    reduce_op: Any = "maximum",
    reverse_pred: Any = False,
    name: Any = None,
) -> None:
    """``on_true`` where ``predicate`` is not 0, else ``on_false`` (number or (P, 1)), with a running maximum."""
    target, chooser, chosen = on_chip(dst, "dst"), on_chip(predicate, "predicate"), on_chip(on_true, "on_true")
    same_extent("select_reduce", ("dst", "predicate"), target, chooser)
    same_extent("select_reduce", ("dst", "on_true"), target, chosen)
    not_both_in_psum("select_reduce", chooser, chosen, "predicate and on_true")
    other = immediate_or_column(on_false, chosen, "on_false")
    command = values.reduce_command(reduce_cmd)
    result = isa.select("select_reduce", chooser, chosen, other)
    if reverse_pred:
        taken = chosen.array.reshape(chooser.array.shape)
        filler = isa.elementwise.per_partition(other, chooser.array.ndim)
        result.values = np.where(chooser.array != 0, filler, to_float32(taken))
        result.attributes = (*result.attributes, ("reverse_pred", True))
    _maximum(result, target, command, reduce_op, reduce_res, command is not ReduceCmd.idle)


@builtin("nki.isa")
def exponential(
    dst: Any,
    src: Any,
    max_value: Any = 0.0,
    reduce_res: Any = None,
    reduce_cmd: Any = ReduceCmd.idle,
    reduce_init: Any = 0.0,
    name: Any = None,
) -> None:
    """``exp(src - max_value)``, with a running sum (Vector Engine, NeuronCore-v4)."""
    needs_core("exponential", 4)
    target, source = on_chip(dst, "dst"), on_chip(src, "src")
    same_extent("exponential", ("dst", "src"), target, source)
    shift = immediate_or_column(max_value, source, "max_value")
    command = values.reduce_command(reduce_cmd)
    loads = command is ReduceCmd.load_reduce
    start = _start(reduce_init, source, "reduce_init") if loads else 0.0
    shifted = to_float32(source.array) - isa.elementwise.per_partition(shift, source.array.ndim)
    reads: list[tuple[str, View]] = [("src", source)]
    attributes: list[tuple[str, Any]] = [("reduce_cmd", command.name)]
    if isinstance(shift, View):
        reads.append(("max_value", shift))
    else:
        attributes.append(("max_value", float(shift)))
    if loads:
        more = isa.said(("reduce_init", immediate_or_column(reduce_init, source, "reduce_init")))
        reads, attributes = [*reads, *more[0]], [*attributes, *more[1]]
    result = isa.result_of("exponential", ACTIVATIONS["exp"](shifted), tuple(reads), tuple(attributes))
    registers = state.current().accumulators["vector"][lanes(source)]
    accumulate(registers, command, "add", reduce_free("add", result.values), start)
    deliver_with(result, target, "reduce_res", reduce_res, registers.copy())


def _start(value: object, data: NkiTensor, name: str) -> Array:
    """A number or (P, 1) tensor as a column."""
    operand = immediate_or_column(value, data, name)
    start: Array = np.empty((data.array.shape[0], 1), np.float32)
    start[...] = isa.elementwise.per_partition(operand, 2)
    return start


@builtin("nki.isa")
def tensor_scalar_cumulative(
    dst: Any,
    src: Any,
    op0: Any,
    op1: Any,
    imm0: Any,
    imm1: Any = None,
    reduce_cmd: Any = ReduceCmd.reset_reduce,
    name: Any = None,
) -> None:
    """``r[i] = (src[i] op0 imm0) op1 r[i - 1]`` along the free dimension, from the accumulators (Vector Engine)."""
    target, source = on_chip(dst, "dst"), on_chip(src, "src")
    same_extent("tensor_scalar_cumulative", ("dst", "src"), target, source)
    scalar_op, fold = values.alu_operator(op0), values.alu_operator(op1)
    if fold not in _NEUTRAL:
        raise KernelError("", f"tensor_scalar_cumulative: op1 must be one of {', '.join(_NEUTRAL)}, got '{fold}'")
    command = values.reduce_command(reduce_cmd)
    if command not in (ReduceCmd.reset_reduce, ReduceCmd.load_reduce, ReduceCmd.reduce):
        raise KernelError("", f"tensor_scalar_cumulative: reduce_cmd.{command.name} is not supported")
    if (imm1 is None) == (command is ReduceCmd.load_reduce):
        raise KernelError("", "tensor_scalar_cumulative: imm1 belongs to reduce_cmd.load_reduce")
    result = isa.tensor_scalar(source, scalar_op, immediate_or_column(imm0, source, "imm0"))
    registers = state.current().accumulators["vector"][lanes(source)]
    if command is not ReduceCmd.reduce:
        registers[...] = _NEUTRAL[fold] if imm1 is None else _start(imm1, source, "imm1")
    steps = result.values.reshape(result.values.shape[0], -1)
    folded = np.empty_like(steps)
    for position in range(steps.shape[1]):
        registers[...] = apply_alu(fold, steps[:, position : position + 1], registers)
        folded[:, position] = registers[:, 0]
    if imm1 is not None:
        reads, numbers = isa.said(("imm1", immediate_or_column(imm1, source, "imm1")))
        result.reads, result.attributes = (*result.reads, *reads), (*result.attributes, *numbers)
    result.op, result.values = "tensor_scalar_cumulative", folded.reshape(result.values.shape)
    result.attributes = (*result.attributes, ("op1", fold), ("reduce_cmd", command.name))
    deliver_with(result, target, "", None, registers)
