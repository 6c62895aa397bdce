"""Instructions without operands, which fill their place: Beta 1 made a tile of their own size, and repeated it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..analysis.instructions import Instruction
    from ..analysis.scope import Scope
    from ..expr.operands import Operand


def as_large_as(scope: Scope, instruction: Instruction, target: Operand) -> Instruction:
    """A number in all elements of ``target``, or an index expression of one partition in all its partitions.

    An index expression of several partitions has those of its place, as the kernel asserts.
    """
    dims, place = instruction.dims, target.dims
    if instruction.function not in ("memset", "iota") or not dims or not place or len(dims) != len(place):
        return instruction
    if instruction.function == "memset":
        return replace(instruction, dims=place)
    if scope.constant(dims[0]) == 1:
        given = [(n, "0" if n == "channel_multiplier" else value) for n, value in instruction.arguments]
        instruction = replace(instruction, arguments=given)
    elif dict(instruction.arguments)["channel_multiplier"] != "0":
        scope.assert_equal(dims[0], place[0], "an iota of as many partitions as its place")
    return replace(instruction, dims=(place[0], *dims[1:]))
