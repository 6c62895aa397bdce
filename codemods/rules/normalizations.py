"""NKI037 normalizations: ``nl.softmax``, ``nl.rms_norm`` and ``nl.var`` become the instructions that they are.

Why: at 0.2 ``nki.language`` has none of them. ``nl.softmax`` is a maximum, a subtraction, an exponential, a sum, a
reciprocal and a multiplication; ``nl.rms_norm`` squares, sums, multiplies by the reciprocal of ``n``, adds ``epsilon``
in the same instruction, takes the reciprocal root, and multiplies by that and by the weight; ``nl.var`` is the sum of
the squared distances from the mean, times the reciprocal of their number. Tiles in between are float32, and the result
has the type that the call gives, or that of its operand.

From 0.3 on ``nki.language`` has them again: ``nl.softmax`` and ``nl.rms_norm`` of plain operands without a mask stay,
and ``nl.var`` of a tile of two dimensions.

Safe: the documents of neither version say in which order the parts are computed; on the emulator both compute these
instructions, under a mask of rows alone, too. Left alone: axes that are not all the free dimensions, masks of these,
``compute_dtype=``, and tiles whose shape the source does not tell (one that is reduced over axis 1 or -1 is taken to
have two dimensions, and asserted to).

Source: nl.softmax, nl.rms_norm and nl.var of the API reference 2.26.1, and of 0.3.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from ..analysis.instructions import Instruction, lowers
from ..expr import algebra
from ..expr.operands import Operand
from ..lower.compute import Call, materialized
from ..lower.elementwise import combined
from ..lower.kept_functions import reduces_all
from ..render.dtypes import assert_float, is_integer
from ..render.patterns import of_rank
from ..render.shapes import literal_axes, reduced_axes
from .isa_destination import reduction

CODE = "NKI037"
GOLDENS = ("normalizations",)


@lowers(CODE, "nl.softmax")
def softmax(call: Call) -> Instruction:
    x = _operand(call)
    distances = _scaled(call, x, "subtract", _reduced(call, "maximum", x, "row_max"), "distances")
    powers = _activated(call, "exp", distances, "powers")
    total = _reduced(call, "add", powers, "row_sum")
    inverse = Instruction("reciprocal", [("data", total)], total.dims, f"{call.scope.nl}.float32")
    return _multiplied(call, powers, materialized(call.scope, call.node, inverse), x.dtype)


@lowers(CODE, "nl.rms_norm")
def rms_norm(call: Call) -> Instruction:
    x, w, nl = _operand(call), call.tensor("w"), call.scope.nl
    count, epsilon = call.value("n"), call.value("epsilon") if "epsilon" in call.arguments else "1e-06"
    if isinstance(count, Operand) or isinstance(epsilon, Operand):
        raise call.refuse(CODE, "nl.rms_norm with a tile for 'n' or 'epsilon'", "pass numbers")
    total = _reduced(call, "add", _activated(call, "square", x, "squares"), "square_sum")
    given: list[tuple[str, Operand | str]] = [("data", total), ("op0", f"{nl}.multiply")]
    given += [("operand0", f"1.0 / {algebra.paren(count)}"), ("op1", f"{nl}.add"), ("operand1", epsilon)]
    mean = Instruction("tensor_scalar", given, total.dims, f"{nl}.float32")
    inverse = _activated(call, "rsqrt", materialized(call.scope, call.node, mean, "mean_square"), "inverse_rms")
    normed = _scaled(call, x, "multiply", inverse, "normed")
    weighted = combined(call.scope, call.node, "multiply", normed, w, call.dtype() or x.dtype)
    return replace(weighted, explicit=call.has("dtype"))


@lowers(CODE, "nl.var")
def var(call: Call) -> Instruction:
    x = _operand(call)
    assert x.dims is not None
    if call.has("keepdims"):
        raise call.refuse(CODE, "nl.var with keepdims=", "leave it out, and reshape the result")
    inverse = f"1.0 / {algebra.paren(algebra.multiply('1', *x.dims[1:]))}"
    if call.dtype() is None:
        assert_float(call.scope, x.dtype)  # that of integers is a float32
    average = _scaled(call, _reduced(call, "add", x, "row_sum"), "multiply", inverse, "row_mean")
    squares = _activated(call, "square", _scaled(call, x, "subtract", average, "distances"), "squares")
    natural = f"{call.scope.nl}.float32" if is_integer(call.scope, x.dtype) else x.dtype
    return _multiplied(call, _reduced(call, "add", squares, "square_sum"), inverse, natural)


def _operand(call: Call) -> Operand:
    """``x``, of which all free dimensions are reduced. Raises :class:`Refuse` where they are not."""
    name, scope = call.name, call.scope
    x = call.tensor("x")
    if x.dims is None and literal_axes(call.arguments["axis"]) in ((1,), (-1,)):
        x = of_rank(scope, x, 2)
    axes = reduced_axes(call.arguments["axis"], x.dims)
    if set(scope.masks.clamps) - {0} or scope.masks.stairs or call.has("compute_dtype"):
        what = f"{name} under a mask that is not of rows alone, or with compute_dtype="
        raise call.refuse(CODE, what, "write its instructions")
    if x.space == "hbm":
        raise call.refuse(CODE, f"{name} of a tensor in HBM", "load it first")
    if axes is None or x.dims is None or not reduces_all(axes, len(x.dims)):
        raise call.refuse(CODE, f"{name} over axes that are not all the free dimensions", "write its instructions")
    return x


def _reduced(call: Call, token: str, x: Operand, name: str) -> Operand:
    """The (P, 1) tile of what ``token`` makes of each partition of ``x``, in float32."""
    assert x.dims is not None
    nl = call.scope.nl
    given: list[tuple[str, Operand | str]] = [("op", f"{nl}.{token}"), ("data", x)]
    axes = ast.copy_location(ast.parse(str(list(range(1, len(x.dims)))), mode="eval").body, call.node)
    result = replace(reduction(call, given, axes), dtype=f"{nl}.float32", explicit=False)
    return materialized(call.scope, call.node, result, name)


def _activated(call: Call, token: str, x: Operand, name: str) -> Operand:
    nl = call.scope.nl
    given: list[tuple[str, Operand | str]] = [("op", f"{nl}.{token}"), ("data", x)]
    return materialized(call.scope, call.node, Instruction("activation", given, x.dims, f"{nl}.float32"), name)


def _of_scalar(call: Call, x: Operand, token: str, other: Operand | str, dtype: str | None) -> Instruction:
    """``x token other``, a number or a (P, 1) tile."""
    given: list[tuple[str, Operand | str]] = [("data", x), ("op0", f"{call.scope.nl}.{token}"), ("operand0", other)]
    return Instruction("tensor_scalar", given, x.dims, dtype)


def _scaled(call: Call, x: Operand, token: str, other: Operand | str, name: str) -> Operand:
    """:func:`_of_scalar` in float32."""
    instruction = _of_scalar(call, x, token, other, f"{call.scope.nl}.float32")
    return materialized(call.scope, call.node, instruction, name)


def _multiplied(call: Call, x: Operand, factor: Operand | str, natural: str | None) -> Instruction:
    """The last instruction: ``x * factor`` in the type that the call gives, or else ``natural``."""
    product = _of_scalar(call, x, "multiply", factor, call.dtype() or natural)
    return replace(product, explicit=call.has("dtype"))
