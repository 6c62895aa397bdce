"""Operands of ``nisa`` instructions that Beta 1 repeats along their free dimensions, and Beta 2 does not.

Source: nki.isa of the API reference 2.26.1; that ``tensor_tensor`` takes a column is seen in public kernels.
"""

from __future__ import annotations

from dataclasses import replace

from ..analysis.instructions import Instruction
from ..expr.operands import Operand
from ..render.one_shape import assert_one_shape, combined_as_traced
from ..render.patterns import common_dims, repeated, spread
from ..render.support import product_function
from .compute import Call


def take_one_shape(call: Call, instruction: Instruction, *operands: str) -> None:
    """Two tiles that an instruction still gets are taken to have one shape: Beta 2 repeats neither."""
    given = dict(instruction.arguments)
    a, b = (given.get(name) for name in operands)
    if isinstance(a, Operand) and isinstance(b, Operand):
        assert_one_shape(call.scope, call.node, a, b)


def repeated_operands(call: Call, instruction: Instruction, a: Operand, b: Operand) -> Instruction:
    """``tensor_tensor`` of operands with free dimensions of size 1, which Beta 1 repeated: they have a step of 0."""
    dims = common_dims(call.scope, [a, b])
    if dims is None:
        found = _column_repeated(call, instruction, a, b)
    else:
        wide = {"data1": spread(call.scope, call.node, a, dims), "data2": spread(call.scope, call.node, b, dims)}
        given = [(n, wide.get(n, value)) for n, value in instruction.arguments]
        found = replace(instruction, arguments=given, dims=dims, like=a.like if a is wide["data1"] else b.like)
    take_one_shape(call, found, "data1", "data2")
    return found


def _column_repeated(call: Call, instruction: Instruction, a: Operand, b: Operand) -> Instruction:
    """The same of a (partitions, 1) operand beside one of another rank, or of any: it has a step of 0 in all of it."""
    for name, column, other in (("data2", b, a), ("data1", a, b)):
        sizes = other.dims
        if column.dims is None or not _is_column(call, column):
            continue
        if sizes is None and other.like:
            sizes = column.dims[0], f"{product_function(call.scope)}({other.like}[1:])"
        if sizes is not None:
            wide = repeated(call.scope, call.node, column, sizes)
            given = [(n, wide if n == name else value) for n, value in instruction.arguments]
            return replace(instruction, arguments=given, dims=other.dims, like=other.like)
    named = dict(instruction.arguments)
    operator, _, token = str(named["op"]).rpartition(".")
    plain = operator == call.scope.nl and "engine" not in named and not call.scope.memory.direct
    traced = combined_as_traced(call.scope, token, a, b, instruction.dtype) if plain else None
    return instruction if traced is None else replace(traced, explicit=instruction.explicit)


def _is_column(call: Call, operand: Operand) -> bool:
    return len(operand.dims or ()) > 1 and all(call.scope.constant(size) == 1 for size in (operand.dims or ())[1:])
