"""NKI030 whole-numbers: ``nl.floor``, ``nl.mod`` and divisions of integers become instructions that Beta 2 has.

Why: Beta 2 has neither a floor nor a modulus nor a division. ``nl.floor`` into an integer type is a conversion to an
integer, less 1 where that is greater than the number, whichever way it rounds. A tile of integers divided by a Python
integer is a quotient by the reciprocal, rounded, and corrected by what it leaves; ``nl.mod`` is what the exact quotient
leaves.

Safe for ``nl.floor``. *Review* (``--unsafe`` writes it) for quotients and moduli, which assume whole numbers below
2**24 in magnitude, which fp32 holds exactly, and that a quotient of negative integers is rounded down: the documents
do not say how Beta 1 rounds it. The output stops where a divisor is not a positive integer. Left alone: ``nl.floor``
into other types, divisors that are tiles.

Source: nl.floor and nl.mod of the API reference 2.26.1; NKI 2.28, "Supported math operators".
"""

from __future__ import annotations

import ast
from dataclasses import replace

from ..analysis.instructions import Instruction, lowers
from ..analysis.scope import Scope
from ..expr import algebra
from ..expr.emission import Refuse
from ..expr.operands import Operand
from ..expr.values import Tile
from ..lower.compute import Call, materialized, operand_or_text
from ..render.dtypes import WEAK_FLOAT, WEAK_INT, is_integer, promoted, scalar_type, type_name
from ..render.support import floor_divided_function

CODE = "NKI030"
GOLDENS = ("whole_numbers",)
_INTEGERS = ("int8", "int16", "int32", "uint8", "uint16")


@lowers(CODE, "nl.floor")
def floor(call: Call) -> Instruction:
    x = _operand_of_floor(call)
    scope, node, dtype = call.scope, call.node, call.dtype() or x.dtype
    if type_name(scope, dtype) not in _INTEGERS:
        message = "nl.floor into a type that is not known to be of integers"
        raise call.refuse(
            CODE, message, "convert to int32 with nisa.tensor_copy, then subtract 1 where that is greater"
        )
    if is_integer(scope, x.dtype):
        return Instruction("tensor_copy", [("src", x)], x.dims, dtype, like=x.like, explicit=call.has("dtype"))
    whole = Instruction("tensor_copy", [("src", x)], x.dims, f"{scope.nl}.int32", like=x.like)
    number = materialized(scope, node, whole)
    up = materialized(scope, node, _of_two(scope, "greater", number, x, f"{scope.nl}.float32"))
    return replace(_of_two(scope, "subtract", number, up, dtype), explicit=call.has("dtype"))


def _operand_of_floor(call: Call) -> Operand:
    """The operand; of one that is left alone under review it is said what the floor of it is."""
    operand = call.scope.attempt(call.tensor, "x")
    if not isinstance(operand, Refuse):
        return operand
    if isinstance(operand.result, Tile):
        operand.node = call.node
        operand.result = replace(operand.result, dtype=call.dtype() or operand.result.dtype)
    raise operand


def _of_two(scope: Scope, token: str, a: Operand, b: Operand, dtype: str | None) -> Instruction:
    given: list[tuple[str, Operand | str]] = [("data1", a), ("data2", b), ("op", f"{scope.nl}.{token}")]
    return Instruction("tensor_tensor", given, a.dims, dtype, like=a.like)


@lowers(CODE, "nl.mod")
def mod(call: Call) -> Instruction:
    return remainder(call.scope, call.node, call.arguments["x"], call.arguments["y"], call.dtype())


def remainder(scope: Scope, node: ast.expr, x: ast.expr, y: ast.expr, explicit: str | None) -> Instruction:
    """``x % y`` of a tile of integers and a Python integer, into the type ``explicit``, if one is given."""
    dividend, divisor = operand_or_text(scope, x), operand_or_text(scope, y)
    if isinstance(dividend, str) or isinstance(divisor, Operand) or not is_whole(scope, dividend, y, None):
        message = "nl.mod of what is not known to be a tile of integers and a Python integer"
        raise Refuse(node, CODE, message, "compute x - y * floor(x / y), with a floor that is exact")
    quotient = materialized(scope, node, floor_divided(scope, node, dividend, divisor, None))
    factor = f"-1 * {algebra.paren(divisor)}"
    given: list[tuple[str, Operand | str]] = [("data", quotient), ("op0", f"{scope.nl}.multiply"), ("operand0", factor)]
    given += [("op1", f"{scope.nl}.add"), ("operand1", dividend)]
    dtype = explicit or quotient.dtype
    return Instruction(
        "scalar_tensor_tensor", given, dividend.dims, dtype, like=dividend.like, explicit=explicit is not None
    )


def is_whole(scope: Scope, dividend: Operand, divisor: ast.expr, dtype: str | None) -> bool:
    """Does a division of integers give integers: a tile by what may be a Python integer?"""
    kind = scalar_type(scope, divisor)
    integers = type_name(scope, dividend.dtype) in _INTEGERS and kind not in (None, WEAK_FLOAT)
    return integers and (dtype is None or is_integer(scope, dtype))


def floor_divided(scope: Scope, node: ast.expr, dividend: Operand, divisor: str, dtype: str | None) -> Instruction:
    """``dividend // divisor`` of integers."""
    if dividend.space == "hbm":
        raise Refuse(node, CODE, "a computation on a tensor in HBM", "load it first")
    natural = promoted(scope, dividend.dtype, WEAK_INT)
    if not scope.module.options.unsafe:
        raise Refuse(
            node,
            CODE,
            "a division of integers: Beta 2 has no divide instruction",
            "--unsafe rounds the quotient down; right for positive integers below 2**24",
            "review",
            Tile("sbuf", dividend.dims, dtype or natural),
        )
    scope.apply(CODE, node)
    given: list[tuple[str, Operand | str]] = [("src", dividend), ("divisor", divisor)]
    name = floor_divided_function(scope)
    return Instruction(
        name,
        given,
        dividend.dims,
        dtype or natural,
        like=dividend.like,
        explicit=dtype is not None,
        cut=False,
        support=True,
    )
