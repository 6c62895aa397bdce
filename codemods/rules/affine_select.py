"""NKI027 affine-select: the predicate of ``nisa.affine_select`` becomes ``pattern=`` and ``offset=``.

Why: Beta 2 has no index vectors. The comparison ``a + p >= b + f`` is written as ``offset + p * channel_multiplier +
sum(index * step) >= 0``, with ``pattern=[[step, count], ...]`` over the free dimensions; it may have a name. Where
branches bind that name to comparisons of the same vectors, the offset is the one that the condition chooses.

GpSimd reads SBUF only: a tile in PSUM is copied to SBUF first; in a kernel that places its tiles itself, to the
destination, and selected there.

Safe: the predicate is evaluated on the same integers.

Source: nisa.affine_select of the API references 2.26.1 and 2.28.
"""

from __future__ import annotations

from ..analysis.instructions import Instruction, lowers
from ..expr import algebra
from ..expr.operands import Operand
from ..expr.values import Comparison
from ..lower.compute import Call, in_sbuf
from ..render.masks import mask_value
from ..render.patterns import of_rank

CODE = "NKI027"
GOLDENS = ("affine_select", "chosen_predicate")


@lowers(CODE, "nisa.affine_select")
def affine_select(call: Call) -> Instruction:
    mask = mask_value(call.scope, call.arguments["pred"])
    if mask is None or mask.comparison is None:
        raise call.refuse(CODE, "a predicate that is not one comparison", "write pattern= and offset= by hand")
    ndim = max(mask.comparison.left.ndim, mask.comparison.right.ndim)
    data = of_rank(call.scope, call.tensor("on_true_tile"), ndim)
    if data.dims is None:
        raise call.refuse(CODE, "a tile whose shape is not known", "write pattern= and offset= by hand")
    if not call.scope.memory.direct:
        data = in_sbuf(call.scope, call.node, data)
    assert data.dims is not None
    offset, steps = _difference(call, mask.comparison, data.dims)
    pattern = ", ".join(f"[{step}, {size}]" for step, size in zip(steps[1:], data.dims[1:], strict=True))
    dtype = call.dtype()
    given: list[tuple[str, Operand | str]] = [
        ("pattern", f"[{pattern}]"),
        ("offset", offset),
        ("channel_multiplier", steps[0]),
        ("on_true_tile", data),
        ("on_false_value", call.value("on_false_value")),
        ("cmp_op", f"{call.scope.nl}.{mask.comparison.operator}"),
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


def _difference(call: Call, comparison: Comparison, dims: tuple[str, ...]) -> tuple[str, list[str]]:
    """``left - right`` as an offset, and a step for each dimension of the tile.

    A vector of one element is repeated along the tile. Where only a trace tells its size, the kernel asserts that it is
    the tile's.
    """
    rank = len(dims)
    steps = ["0"] * rank
    offset = algebra.subtract(comparison.left.offset, comparison.right.offset)
    for index, sign in ((comparison.left, ""), (comparison.right, "-")):
        for term in index.terms:
            position = term.position + rank - index.ndim
            if not 0 <= position < rank or steps[position] != "0":
                raise call.refuse(CODE, "a predicate over several vectors a dimension", "write pattern= by hand")
            if call.scope.constant(term.axis.size) != 1:
                call.scope.assert_equal(term.axis.size, dims[position], "index vectors as long as the tile")
                steps[position] = _signed(sign, term.coefficient)
            first = algebra.multiply(term.coefficient, term.axis.start)
            offset = algebra.subtract(offset, first) if sign else algebra.add(offset, first)
    return offset, steps


def _signed(sign: str, coefficient: str) -> str:
    if not sign:
        return coefficient
    return algebra.negative(coefficient)
