"""``x * 2.0 - 1.0``: one ``tensor_scalar`` has two operators, each with a number or a column.

Beta 1 had a tile between the two. Where that is float32, it rounds nothing: the engine computes in float32, so that the
one instruction gives the same bits. ``verify`` takes it for the two (:mod:`nki_migrate.runtime.compare.fused`).

Source: "tensor_scalar", API references 2.26.1 and 2.28: ``(data op0 operand0) op1 operand1``.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from nki_migrate.runtime.spec.operators import FUSED

from ..analysis.instructions import Instruction
from ..render.dtypes import scalar_type, type_name
from ..render.expressions import render
from ..render.one_shape import REVERSIBLE
from .access import operand
from .computations import is_computation

if TYPE_CHECKING:
    from ..analysis.scope import Scope

_ONE_OPERATOR = {"data", "op0", "operand0", "reverse0"}


def beside_number(scope: Scope, token: str, x: ast.expr, y: ast.expr) -> tuple[ast.expr, ast.expr, bool] | None:
    """The computation and the number of ``x token y``, and whether the number stands first; ``None`` for others.

    Masks cut each computation on its own: neither may have one.
    """
    if token not in FUSED or scope.masks.clamps or scope.masks.stairs is not None:
        return None
    for tile, number, reverse in ((x, y, False), (y, x, True)):
        if not _is_plain(scope, tile) or not is_computation(scope, tile) or is_computation(scope, number):
            continue
        if operand(scope, number) is None and scalar_type(scope, number) is not None:
            return tile, number, reverse
    return None


def _is_plain(scope: Scope, node: ast.expr) -> bool:
    """Is a computation one of the operators that may be the first of two, without a mask?"""
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Add | ast.Sub | ast.Mult)
    if not isinstance(node, ast.Call) or any(keyword.arg == "mask" for keyword in node.keywords):
        return False
    return (scope.qualified(node.func) or "").removeprefix("nl.") in FUSED


def fused(
    scope: Scope, instruction: Instruction, token: str, number: ast.expr, reverse: bool, dtype: str | None
) -> Instruction | None:
    """``instruction`` with ``token number`` as its second operator; ``None`` where it cannot have one."""
    names = {name for name, _ in instruction.arguments}
    operator = str(dict(instruction.arguments).get("op0", "")).rpartition(".")[2]
    has_one = instruction.function == "tensor_scalar" and names <= _ONE_OPERATOR and operator in FUSED
    if not has_one or instruction.first is not None or instruction.ranked is not None or instruction.optional:
        return None
    if type_name(scope, instruction.dtype) != "float32" or instruction.space != "sbuf":
        return None
    given = [*instruction.arguments, ("op1", f"{scope.nl}.{token}"), ("operand1", render(scope, number))]
    if reverse and token not in REVERSIBLE:
        given.append(("reverse1", "True"))
    scope.assert_all(instruction.conditions)
    return replace(instruction, arguments=given, dtype=dtype or instruction.dtype, explicit=dtype is not None)
