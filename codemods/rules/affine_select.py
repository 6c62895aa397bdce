"""NKI027 affine-select: the predicate of ``nisa.affine_select`` becomes ``pattern=`` and ``offset=``.

Why: Beta 2 has no index vectors. The comparison ``a + p >= b + f`` is written as ``offset + p * channel_multiplier +
sum(index * step) >= 0``, with ``pattern=[[step, count], ...]`` over the free dimensions.

GpSimd reads SBUF only: a tile in PSUM is copied to the destination first, and selected there.

Safe: the predicate is evaluated on the same integers.

Source: nisa.affine_select of the API references 2.26.1 and 2.28.
"""

from __future__ import annotations

import ast

from .. import algebra
from ..compute import Call, Instruction, lowers
from ..emission import Refuse
from ..facts.index import index_value
from ..facts.values import Grid, Index
from ..operands import Operand
from ..render import render

CODE = "NKI027"
GOLDENS = ("affine_select",)
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.GtE: "greater_equal",
    ast.Gt: "greater",
    ast.LtE: "less_equal",
    ast.Lt: "less",
    ast.Eq: "equal",
    ast.NotEq: "not_equal",
}


@lowers(CODE, "nisa.affine_select")
def affine_select(call: Call) -> Instruction:
    predicate = call.arguments["pred"]
    if not (isinstance(predicate, ast.Compare) and len(predicate.ops) == 1):
        raise call.refuse(CODE, "a predicate that is not one comparison", "write pattern= and offset= by hand")
    data = call.tensor("on_true_tile")
    if data.dims is None:
        raise call.refuse(CODE, "a tile whose shape is not known", "write pattern= and offset= by hand")
    offset, steps = _difference(call, predicate, len(data.dims))
    pattern = ", ".join(f"[{step}, {size}]" for step, size in zip(steps[1:], data.dims[1:], strict=True))
    dtype = call.dtype()
    given: list[tuple[str, Operand | str]] = [
        ("pattern", f"[{pattern}]"),
        ("offset", offset),
        ("channel_multiplier", steps[0]),
        ("on_true_tile", data),
        ("on_false_value", call.value("on_false_value")),
        ("cmp_op", f"{call.scope.nl}.{_COMPARISONS[type(predicate.ops[0])]}"),
    ]
    return Instruction(
        "affine_select",
        given,
        data.dims,
        dtype or data.dtype,
        like=data.like,
        explicit=dtype is not None,
        cut=False,
        through="on_true_tile" if data.perhaps_psum else "",
    )


def _difference(call: Call, predicate: ast.Compare, rank: int) -> tuple[str, list[str]]:
    """``left - right`` as an offset, and a step for each dimension of the tile."""
    left, right = _side(call, predicate.left), _side(call, predicate.comparators[0])
    steps = ["0"] * rank
    for index, sign in ((left, ""), (right, "-")):
        for term in index.terms:
            position = term.position + rank - index.ndim
            if steps[position] != "0" or not 0 <= position < rank or term.axis.start != "0":
                raise Refuse(predicate, CODE, "a predicate over several vectors a dimension", "write pattern= by hand")
            steps[position] = _signed(sign, term.coefficient)
    return algebra.subtract(left.offset, right.offset), steps


def _signed(sign: str, coefficient: str) -> str:
    if not sign:
        return coefficient
    return coefficient[1:] if coefficient.startswith("-") else f"-{algebra.paren(coefficient)}"


def _side(call: Call, node: ast.expr) -> Index:
    value = index_value(call.scope, node)
    if isinstance(value, Grid):
        raise Refuse(node, CODE, "an mgrid object in a predicate", "use its components")
    return value if isinstance(value, Index) else Index(0, (), render(call.scope, node))
