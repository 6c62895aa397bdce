"""What inverts the bits of integers, and truth values: ``nl.invert``, ``~x`` and ``nl.logical_not``."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from ..analysis.instructions import Instruction, lowers
from ..expr.emission import Refuse
from ..expr.operands import Operand
from ..plan.truth_tiles import truth_type
from ..render.dtypes import is_integer, type_name
from ..syntax.codes import NL_COMPUTE as CODE
from .compute import Call, operand_or_text

if TYPE_CHECKING:
    from ..analysis.scope import Scope


@lowers(CODE, "nl.invert")
def _inverted(call: Call) -> Instruction:
    instruction, dtype = _of_bits(call.scope, call.node, call.tensor("x")), call.dtype()
    return replace(instruction, dtype=dtype or instruction.dtype, explicit=dtype is not None)


@lowers(CODE, "nl.logical_not")
def _negated(call: Call) -> Instruction:
    """A comparison with 0: later versions have no such operator, and a function that is right for 0 and 1 only."""
    x, dtype = call.tensor("x"), call.dtype()
    given: list[tuple[str, Operand | str]] = [("data", x), ("op0", f"{call.scope.nl}.equal"), ("operand0", "0.0")]
    kind = dtype or truth_type(call.scope, call.node)
    return Instruction("tensor_scalar", given, x.dims, kind, like=x.like, explicit=dtype is not None)


def inverted(scope: Scope, node: ast.UnaryOp) -> Instruction:
    """``~x`` of a tile."""
    x = operand_or_text(scope, node.operand)
    if isinstance(x, str):
        raise Refuse(node, CODE, "the operand of ~ is not known to be a tensor", "invert a tile")
    return _of_bits(scope, node, x)


def _of_bits(scope: Scope, node: ast.expr, x: Operand) -> Instruction:
    """All bits of an integer; a truth value is one that is equal to 0."""
    is_truth = type_name(scope, x.dtype) == "bool_"
    if not is_truth and not is_integer(scope, x.dtype):
        raise Refuse(node, CODE, "~ of a tile that is not known to be of integers", "use nisa.tensor_scalar")
    operator, number = ("equal", "0.0") if is_truth else ("bitwise_xor", "-1")
    given: list[tuple[str, Operand | str]] = [("data", x), ("op0", f"{scope.nl}.{operator}"), ("operand0", number)]
    return Instruction("tensor_scalar", given, x.dims, x.dtype, like=x.like)
