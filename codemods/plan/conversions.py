"""Results that two types are named for: the one of the call, and that of the tile that they go into."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..expr.emission import Refuse, asserting
from ..render.dtypes import type_name
from ..syntax import codes
from ..syntax.node_index import of_kinds

if TYPE_CHECKING:
    from ..analysis.instructions import Instruction
    from ..analysis.scope import Scope
    from ..expr.operands import Operand

DESTINATION = codes.ISA_DESTINATION
_KEEPS_ITS_VALUES = frozenset(
    "load load_transpose2d copy tensor_copy transpose nc_transpose dma_transpose broadcast_to memset iota "
    "equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor logical_not all".split()
)
"""Functions whose results have no element that their own type would round."""


def converts_in_psum(scope: Scope, instruction: Instruction, target: Operand) -> bool:
    """Would a transpose write another type than it reads? Beta 2's does not."""
    types = {type_name(scope, instruction.dtype), type_name(scope, target.dtype)}
    direct = target.perhaps_psum or instruction.space == "sbuf"  # from PSUM into SBUF a copy converts
    return instruction.function == "nc_transpose" and direct and len(types) == 2 and None not in types


def may_convert_in_psum(scope: Scope, instruction: Instruction, target: Operand) -> bool:
    """Does only a trace tell whether a transpose would write another type than it reads?"""
    may_convert = not scope.same_dtype(instruction.dtype, target.dtype)
    return instruction.function == "nc_transpose" and target.perhaps_psum and may_convert and not scope.memory.direct


def may_convert_in_sbuf(scope: Scope, instruction: Instruction, target: Operand) -> bool:
    """Does only a trace tell whether a DMA, or the Vector Engine, would transpose into another type?"""
    by_vector = instruction.function == "nc_transpose" and instruction.space == "sbuf" and not target.perhaps_psum
    types = {type_name(scope, instruction.dtype), type_name(scope, target.dtype)}
    unknown = None in types and not scope.same_dtype(instruction.dtype, target.dtype)
    return unknown and (by_vector or instruction.function == "dma_transpose")


def assert_one_conversion(scope: Scope, node: ast.expr, instruction: Instruction, target: Operand, what: str) -> None:
    """``what`` has no tile in between: the kernel asserts that such a tile would have the destination's type."""
    types = [instruction.dtype, target.dtype]
    names = {type_name(scope, dtype) for dtype in types}
    computes = not instruction.function.endswith(
        ("dma_copy", "transpose")
    )  # in float32: rounding to it changes nothing
    if computes and type_name(scope, instruction.dtype) == "float32":
        return
    if None in types or (None not in names and len(names) > 1):
        raise Refuse(node, DESTINATION, f"{what}, and is converted twice", "drop dtype=")
    _assert_same(scope, types[1], types[0], f"{what}, which is converted once", types[0] if computes else None)


def _assert_same(scope: Scope, a: str | None, b: str | None, what: str, computed: str | None) -> None:
    """The kernel asserts that two types are one, or that the ``computed`` one (if there is one) is float32."""
    exact = f" or str({computed}) == str({scope.nl}.float32)" if computed is not None else ""
    scope.output.lines.append(asserting(f"str({a}) == str({b}){exact}", what))


def hands_back_result(function: ast.FunctionDef) -> bool:
    """Does a function return what it computes, without a name and without a type? Beta 1 wrote that to its place.

    ``tile[...] = function(..)`` was one instruction, which rounded once, to the type of ``tile``.
    """
    returned = [node.value for node in of_kinds(function, ast.Return) if node.value is not None]
    calls = [value for value in returned if isinstance(value, ast.Call)]
    rounding = (call for call in calls if all(k.arg != "dtype" for k in call.keywords))
    called = [ast.unparse(call.func).rpartition(".")[2] for call in rounding]
    return any(isinstance(value, ast.BinOp) for value in returned) or any(n not in _KEEPS_ITS_VALUES for n in called)


def assert_handed_back(scope: Scope, node: ast.expr, instruction: Instruction, target: Operand) -> None:
    """The tile that a function returns has the type of the place that it is copied to, or float32; else Refuse."""
    own, place = instruction.dtype, target.dtype
    names = type_name(scope, own), type_name(scope, place)
    if names[0] == "float32" or scope.same_dtype(own, place):
        return
    if own is None or place is None or None not in names:
        message = "the result that a function returns is rounded to its own type first, which Beta 1 did not do"
        raise Refuse(node, DESTINATION, message, "hand the destination to the function, and write it there")
    _assert_same(scope, own, place, "a returned result of the type of its place", own)
