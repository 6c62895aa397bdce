"""NKI031 program-reduction: ``nl.all_reduce`` becomes an exchange of tiles between the two programs of a launch.

Why: Beta 2 has no ``nl.all_reduce``. Its launch grid has one or two programs; each of two sends its tile to the other
one with ``nisa.sendrecv``, and computes with both. A function that the rewrite adds does that, and copies a tile where
there is only one program.

Safe: two numbers are reduced to the same bits in either order. Left alone: axes other than the first one.

Source: NKI 2.26.1, ``nki.language.all_reduce``; aws-neuron/nki-library at 2.28 (``bwmm_shard_on_H``), which reduces so.
"""

from __future__ import annotations

import ast

from ..analysis.instructions import Instruction, lowers
from ..expr.operands import Operand
from ..lower.compute import Call, in_sbuf
from ..render.support import all_reduced_function
from .operator_tokens import token

CODE = "NKI031"
GOLDENS = ("program_reduction",)


@lowers(CODE, "nl.all_reduce")
def all_reduce(call: Call) -> Instruction:
    axes = call.arguments["program_axes"]
    for axis in axes.elts if isinstance(axes, ast.List | ast.Tuple) else [axes]:
        first = isinstance(axis, ast.Constant) and axis.value == 0
        # A name is that of nl.program_id(0): a kernel that asks for another axis is left under a finding of its own.
        if not (
            first or isinstance(axis, ast.Name) or call.scope.qualified(getattr(axis, "func", axis)) == "nl.program_id"
        ):
            raise call.refuse(CODE, "a reduction over another axis than the first of the grid", "exchange the tiles")
    x = in_sbuf(call.scope, call.node, call.tensor("x"))
    dtype = call.dtype()
    given: list[tuple[str, Operand | str]] = [("src", x), ("op", token(call, "op"))]
    name = all_reduced_function(call.scope)
    return Instruction(name, given, x.dims, dtype or x.dtype, like=x.like, explicit=dtype is not None, support=True)
