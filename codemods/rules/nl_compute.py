"""NKI022 nl-compute: ``nl`` computations and operators on tiles become ``nisa`` instructions.

Why: in Beta 2 the names of ``nl`` are tokens, not functions, and tensors have no operators. ``nl.multiply(x, 0.5)``
becomes ``nisa.tensor_scalar``, ``x * y`` of two tiles ``nisa.tensor_tensor``, ``nl.exp(x)`` ``nisa.activation``,
``nl.sum`` and ``nl.max`` ``nisa.tensor_reduce``, ``nl.copy`` and ``x.astype(dtype)`` ``nisa.tensor_copy``,
``nl.matmul`` ``nisa.nc_matmul``. ``nl.transpose``, ``nl.mean``, ``nl.where`` and a matmul that transposes are several
instructions, with tiles between them; where a mask chooses (which public kernels do, and no document names), the first
choice is copied into the part that the mask leaves; ``nl.load_transpose2d`` is a DMA that walks its source by columns.
The result has the type that Beta 1 promotes to: where only a trace tells the types, a function that the rewrite adds
computes it. A comparison gives ``bool_``, or ``uint8`` where that does not show.
``nl.all`` is a ``tensor_reduce``, ``nl.logical_not`` a comparison with 0, ``~x`` of integers a ``bitwise_xor`` with -1;
``&``, ``|``, ``^``, ``<<`` and ``>>`` are the instructions of ``nl.bitwise_and`` and its like. ``nl.ceil``,
``nl.trunc``, ``nl.cos`` and ``nl.tan``, which 0.2 has not, stay where the target has them, and are left elsewhere.
A number behind one, ``x * 2.0 - 1.0`` in float32, is the second operator of one instruction: an instruction less.

From 0.3 on ``nl`` has functions again. Those that give the same tile as Beta 1's (``nl.add`` and its like of two tiles
of one shape or of a tile and a number, ``nl.exp`` and its like, ``nl.sum``, ``nl.max``, ``nl.min``) stay where the
target has them, the operands are plain parts without a mask and the tile has no address; ``a + b`` becomes ``nl.add``.
The others become instructions: comparisons, ``rsqrt``, ``divide`` and ``copy`` are not what they were.
``nl.loop_reduce`` starts with its first operand where its destination is only declared: the new tensor is filled where
it is declared (with -0.0 for sums, an infinity for the largest and the smallest), a ``memset`` more, and a destination
that another function declares is *review*.

Safe: the instruction computes the same in fp32 and rounds once. Two operands of shapes that the source does not tell
are taken to be equal, as a note says, and Beta 2 refuses them where they are not (the kernel asserts it where
reductions of several dimensions would hide it); where one of them is what a reduction over axes that a parameter names
has left, a function that the rewrite adds looks which one is repeated. An operand of one partition is copied to all of
them first. A division is *review* (``--unsafe`` writes it): it becomes a reciprocal and a multiplication, and its last
bit may differ; a division by a power of two is exact.

Declared: 1 ULP of the result's type for a division by a tile, 2 ULP by a number. Quotient, reciprocal and product are
each rounded to the nearest, so that before its last rounding the product is less than a unit away from the quotient,
and two numbers less than a unit apart round to one number or to neighbours, in a narrower type as well (of bfloat16
tiles the quotients in bfloat16 are the same). A number is rounded to fp32 on one side and its inverse on the other,
which adds a unit. This holds while the reciprocal is a normal number (divisors from 2**-126 to 2**126), and for what
the division itself gives: nothing bounds what is computed from that. ``nki-migrate verify`` accepts outputs that are
within the bound, and those that the old kernel gives bit by bit once its quotients are rounded as the new ones are; it
says how far they are apart, and calls others different.

Source: nki.language of the API references 2.26.1 and 2.28; NKI 2.26.1, "NKI type promotion".
"""

from __future__ import annotations

import ast
import math
from dataclasses import replace

from nki_migrate.runtime.spec.comparison import BY_NUMBER_ULPS, BY_TILE_ULPS
from nki_migrate.runtime.spec.operators import BITWISE

from ..analysis.instructions import Instruction, lowers
from ..analysis.scope import Scope
from ..expr import algebra
from ..expr.emission import Refuse
from ..expr.operands import Operand
from ..expr.tables import activation_token, operator_token
from ..expr.values import Tile
from ..lower.choices import chosen_elements
from ..lower.computations import METHODS, Method
from ..lower.compute import Call, copy_of, in_sbuf, lower, materialized, operand_or_text, temporary_of
from ..lower.elementwise import combined, is_column, is_of_one_row, row_broadcast, with_scalar
from ..lower.inversions import inverted
from ..lower.products import operand_masks
from ..lower.row_broadcasts import repeated_as_traced, written_later
from ..lower.two_operators import beside_number, fused
from ..plan.truth_tiles import COMPARISONS, comparison_token, truth_type
from ..render.dtypes import (
    WEAK_INT,
    Promotion,
    assert_float,
    is_integer,
    promoted,
    promotion,
    promotion_of_bits,
    promotion_of_bits_with_number,
    scalar_type,
    type_name,
)
from ..render.expressions import render
from ..render.patterns import broadcast, of_rank, permuted
from ..render.shapes import broadcast_sizes, reduced_axes
from ..syntax import codes
from .isa_destination import cut_and_move, product, reduction, same_precision
from .masks import masked
from .whole_numbers import floor_divided, is_whole, remainder

CODE = codes.NL_COMPUTE
GOLDENS = (
    "chosen_by_mask",
    "nl_compute",
    "nl_sequences",
    "loop_reduce",
    "broadcast_rows",
    "column_broadcast",
    "window_argmax",
    "converted_tiles",
    "either_width",
)

_BINARY = (
    "add subtract multiply maximum minimum power bitwise_and bitwise_or bitwise_xor left_shift right_shift".split()
)
_UNARY = (
    "abs arctan erf erf_dx exp gelu gelu_apprx_sigmoid gelu_apprx_tanh gelu_dx log mish relu rsqrt sigmoid sign silu "
    "silu_dx sin softplus sqrt square tanh"
).split()
_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "divide",
    ast.Pow: "power",
    ast.BitAnd: "bitwise_and",
    ast.BitOr: "bitwise_or",
    ast.BitXor: "bitwise_xor",
    ast.LShift: "left_shift",
    ast.RShift: "right_shift",
}


@lowers(CODE, *(f"nl.{name}" for name in _BINARY + COMPARISONS))
def binary(call: Call) -> Instruction:
    token = operator_token(call.name)
    assert token is not None
    explicit = call.dtype()
    if explicit is None and call.name.partition(".")[2] in COMPARISONS:
        return replace(_binary(call, token, truth_type(call.scope, call.node)), explicit=False)
    return _binary(call, token, explicit)


def _binary(call: Call, token: str, dtype: str | None) -> Instruction:
    return combine(call.scope, call.node, token, call.arguments["x"], call.arguments["y"], dtype)


@lowers(CODE, *(f"nl.{name}" for name in _UNARY))
def unary(call: Call) -> Instruction:
    token = activation_token(call.name)
    x = call.tensor("x")
    dtype = call.dtype()
    given: list[tuple[str, Operand | str]] = [("op", f"{call.scope.nl}.{token}"), ("data", x)]
    return Instruction("activation", given, x.dims, dtype or x.dtype, like=x.like, explicit=dtype is not None)


@lowers(CODE, "nl.reciprocal")
def reciprocal(call: Call) -> Instruction:
    x = call.tensor("x")
    dtype = call.dtype()
    return Instruction("reciprocal", [("data", x)], x.dims, dtype or x.dtype, like=x.like, explicit=dtype is not None)


@lowers(CODE, "nl.negative")
def negative(call: Call) -> Instruction:
    return negated(call.scope, call.arguments["x"], call.dtype())


def negated(scope: Scope, node: ast.expr, dtype: str | None) -> Instruction:
    x = operand_or_text(scope, node)
    if isinstance(x, str):
        raise Refuse(node, CODE, "the operand is not known to be a tensor", "negate a tile")
    given: list[tuple[str, Operand | str]] = [("data", x), ("op0", f"{scope.nl}.multiply"), ("operand0", "-1.0")]
    return Instruction("tensor_scalar", given, x.dims, dtype or x.dtype, like=x.like, explicit=dtype is not None)


@lowers(CODE, "nl.copy", "nl.static_cast")
def copy(call: Call) -> Instruction:
    src = call.tensor("src" if call.name == "nl.copy" else "input_data")
    dtype = call.dtype()
    if src.space == "hbm":
        raise call.refuse(CODE, "nl.copy of a tensor in HBM", "use nisa.dma_copy")
    given: list[tuple[str, Operand | str]] = [("src", src)]
    return Instruction("tensor_copy", given, src.dims, dtype or src.dtype, like=src.like, explicit=dtype is not None)


@lowers(CODE, "nl.broadcast_to")
def broadcast_to(call: Call) -> Instruction:
    src, node = call.tensor("src"), call.node
    sizes = broadcast_sizes(call.scope, node, call.arguments["shape"], src)
    if is_of_one_row(call.scope, src, sizes):
        return row_broadcast(call.scope, node, src, sizes)
    src = of_rank(call.scope, src, len(sizes))
    untold = repeated_as_traced(call.scope, node, src, sizes)
    if untold is not None:
        return untold
    given: list[tuple[str, Operand | str]] = [("src", broadcast(call.scope, node, src, sizes))]
    return Instruction("tensor_copy", given, sizes, src.dtype)


def _broadcasts_rows(scope: Scope, node: ast.Call, src: Operand) -> bool:
    """Is ``x.broadcast_to(shape)`` one over partitions? Along the free dimensions it is a view."""
    if len(node.args) != 1 or node.keywords or not isinstance(src.value, Tile):
        return False
    return is_of_one_row(scope, src, broadcast_sizes(scope, node, node.args[0], src))


def _broadcast_method(scope: Scope, node: ast.Call, src: Operand) -> Instruction:
    if written_later(scope, src):
        raise Refuse(node, CODE, f"'{src.base}' is broadcast, and written again later", "broadcast it again after that")
    return row_broadcast(scope, node, src, broadcast_sizes(scope, node, node.args[0], src))


METHODS["broadcast_to"] = Method(_broadcasts_rows, _broadcast_method)


def _converted(scope: Scope, node: ast.Call, src: Operand) -> Instruction:
    """``x.astype(dtype)``: a copy in another type."""
    given = [*node.args, *(keyword.value for keyword in node.keywords if keyword.arg == "dtype")]
    if len(given) != 1 or len(given) < len(node.args) + len(node.keywords):
        raise Refuse(node, CODE, "astype of anything but a type", "write x.astype(dtype)")
    dtype = scope.evaluator.dtype_text(scope, given[0])
    return Instruction("tensor_copy", [("src", src)], src.dims, dtype, like=src.like, explicit=True)


METHODS["astype"] = Method(lambda scope, node, src: isinstance(src.value, Tile), _converted, always=True)


@lowers(CODE, "nl.divide")
def divide(call: Call) -> Instruction:
    quotient = division(call.scope, call.node, call.arguments["x"], call.arguments["y"], call.dtype())
    if quotient.support and not quotient.cut and call.optional_dtype():
        raise call.refuse(CODE, "a division of integers into a type that may be None", "pass a type, or none")
    return quotient


def division(scope: Scope, node: ast.expr, x: ast.expr, y: ast.expr, dtype: str | None) -> Instruction:
    """``1 / y`` is ``nisa.reciprocal``, ``x / 2`` a multiplication; any other division is both (*review*)."""
    dividend, divisor = operand_or_text(scope, x), operand_or_text(scope, y)
    explicit = dtype is not None
    if isinstance(dividend, Operand) and isinstance(divisor, str) and is_whole(scope, dividend, y, dtype):
        return floor_divided(scope, node, dividend, divisor, dtype)
    if any(isinstance(side, Operand) and is_integer(scope, side.dtype) for side in (dividend, divisor)):
        raise Refuse(node, CODE, "a division of integers", "convert the tiles to float32 first")
    if isinstance(divisor, Operand) and isinstance(x, ast.Constant) and x.value in (1, 1.0):
        natural = _quotient_type(scope, divisor.dtype, scalar_type(scope, x))
        _assert_floats(scope, node, dtype or natural, divisor.dtype, scalar_type(scope, x))
        given: list[tuple[str, Operand | str]] = [("data", divisor)]
        return Instruction("reciprocal", given, divisor.dims, dtype or natural, like=divisor.like, explicit=explicit)
    inverse_of_two = _inverse_of_power_of_two(y)
    if isinstance(dividend, Operand) and inverse_of_two:
        natural = _quotient_type(scope, dividend.dtype, scalar_type(scope, y))
        _assert_floats(scope, node, dtype or natural, dividend.dtype, scalar_type(scope, y))
        return _scaled(scope, dividend, inverse_of_two, dtype or natural, explicit)
    if isinstance(dividend, str) and isinstance(divisor, str):
        raise Refuse(node, CODE, "neither operand is known to be a tensor", "pass tiles")
    kinds = [
        side.dtype if isinstance(side, Operand) else scalar_type(scope, given)
        for side, given in ((dividend, x), (divisor, y))
    ]
    return _by_reciprocal(scope, node, dividend, divisor, kinds, dtype)


def _by_reciprocal(
    scope: Scope,
    node: ast.expr,
    dividend: Operand | str,
    divisor: Operand | str,
    kinds: list[str | None],
    dtype: str | None,
) -> Instruction:
    """A division, of which one side at least is a tile, as a multiplication; ``kinds`` are the types of its sides."""
    explicit, natural = dtype is not None, _quotient_type(scope, *kinds)
    if not scope.module.options.unsafe:
        raise Refuse(
            node,
            CODE,
            "a division: Beta 2 has no divide instruction",
            "--unsafe writes a reciprocal and a multiplication; the last bits of the result may differ",
            "review",
            Tile("sbuf", _wider(scope, dividend, divisor), dtype or natural),
        )
    _assert_floats(scope, node, dtype or natural, *kinds)
    bound = BY_NUMBER_ULPS if isinstance(divisor, str) else BY_TILE_ULPS
    inexact = scope.module.plan.inexact
    scope.draft.put(inexact, CODE, max(bound, inexact.get(CODE, 0)))
    if isinstance(divisor, str):
        assert isinstance(dividend, Operand)
        return _scaled(scope, dividend, f"1.0 / {algebra.paren(divisor)}", dtype or natural, explicit)
    inverse = Instruction("reciprocal", [("data", divisor)], divisor.dims, f"{scope.nl}.float32", like=divisor.like)
    inverted = materialized(scope, node, inverse)
    if isinstance(dividend, str):
        return _scaled(scope, inverted, dividend, dtype or natural, explicit)
    return replace(combined(scope, node, "multiply", dividend, inverted, dtype or natural), explicit=explicit)


def _assert_floats(scope: Scope, node: ast.expr, result: str | None, *kinds: str | None) -> None:
    """A division whose type only a trace tells must be one of floats: that of integers rounds down.

    ``result`` is its type, ``kinds`` are those of its operands, which may be weak.
    """
    tiles = [kind for kind in kinds if kind not in (WEAK_INT, None)]
    told = result if WEAK_INT not in kinds and result is not None else tiles[0] if tiles else None
    if told is None:
        raise Refuse(node, CODE, "a division of numbers whose type is not known", "convert the tiles to float32 first")
    if type_name(scope, result) is None:
        assert_float(scope, told)


def _quotient_type(scope: Scope, *kinds: str | None) -> str | None:
    """The type of a division. That of a tile by an integer is the tile's, for :func:`_assert_floats` asserts floats."""
    [tile, *others] = [kind for kind in kinds if kind != WEAK_INT]
    if tile is not None and not others and type_name(scope, tile) is None:
        return tile
    return promoted(scope, *kinds)


def _wider(scope: Scope, *sides: Operand | str) -> tuple[str, ...] | None:
    """The shape of an operation on ``sides``, of which one may be a column or a number."""
    tiles = [side for side in sides if isinstance(side, Operand)]
    return next((tile for tile in tiles if not is_column(scope, tile)), tiles[0]).dims


def _inverse_of_power_of_two(node: ast.expr) -> str:
    """``0.25`` for ``4``: the division by it is exact as a multiplication; empty for any other divisor."""
    value = node.value if isinstance(node, ast.Constant) else None
    if not isinstance(value, int | float) or value == 0 or abs(math.frexp(value)[0]) != 0.5:
        return ""
    return repr(1.0 / value)


def _scaled(scope: Scope, x: Operand, factor: str, dtype: str | None, explicit: bool) -> Instruction:
    given: list[tuple[str, Operand | str]] = [("data", x), ("op0", f"{scope.nl}.multiply"), ("operand0", factor)]
    return Instruction("tensor_scalar", given, x.dims, dtype, like=x.like, explicit=explicit)


@lowers(CODE, "nl.all")
def all_true(call: Call) -> Instruction:
    given: list[tuple[str, Operand | str]] = [("op", f"{call.scope.nl}.logical_and"), ("data", call.tensor("x"))]
    truths = reduction(call, given, call.arguments["axis"])
    return truths if call.has("dtype") else replace(truths, dtype=f"{call.scope.nl}.bool_")


@lowers(CODE, "nl.sum", "nl.max", "nl.min", "nl.prod")
def reduce(call: Call) -> Instruction:
    token = operator_token(call.name)
    x = call.tensor("x")
    given: list[tuple[str, Operand | str]] = [("op", f"{call.scope.nl}.{token}"), ("data", x)]
    if call.has("keepdims"):
        given.append(("keepdims", call.value("keepdims")))
    return reduction(call, given, call.arguments["axis"])


@lowers(CODE, "nl.matmul")
def matmul(call: Call) -> Instruction:
    transposed = call.arguments.get("transpose_x")
    if transposed is not None and not isinstance(transposed, ast.Constant):
        raise call.refuse(CODE, "nl.matmul with transpose_x= that is not a literal", "write nisa.nc_matmul")
    node, masks = call.node, operand_masks(call, "x", "y")
    x, y = (of_rank(call.scope, call.tensor(name), 2) for name in ("x", "y"))
    x = in_sbuf(call.scope, node, x)
    if transposed is None or not transposed.value:
        if call.scope.masks.clamps or any(masks):
            raise call.refuse(codes.MASKS, "a mask on a matmul that transposes", "clamp the operands by hand")
        x = materialized(call.scope, node, _transposed(call, x, None))
    y = in_sbuf(call.scope, node, y)
    same_precision(call, x, y)
    dtype = call.dtype()
    given: list[tuple[str, Operand | str]] = [("stationary", x), ("moving", y)]
    return product(call, given, dtype or f"{call.scope.nl}.float32", explicit=dtype is not None, masks=masks)


@lowers(CODE, "nl.transpose")
def transpose(call: Call) -> Instruction:
    return _transposed(call, of_rank(call.scope, call.tensor("x"), 2), call.dtype())


def _transposed(call: Call, x: Operand, dtype: str | None) -> Instruction:
    """A transpose into SBUF: by TensorE into PSUM, then copied."""
    if x.dims is None or len(x.dims) != 2:
        raise call.refuse(CODE, "a transpose of a tile whose two sizes are not known", "use nisa.nc_transpose")
    dims = (x.dims[1], x.dims[0])
    x = in_sbuf(call.scope, call.node, x)  # TensorE reads SBUF only
    given: list[tuple[str, Operand | str]] = [("data", cut_and_move(call, x, (1, 0)))]
    turned = Instruction("nc_transpose", given, dims, x.dtype, "psum", precut=True)
    copied = copy_of(materialized(call.scope, call.node, turned))
    return replace(copied, dtype=dtype or x.dtype, explicit=dtype is not None)


@lowers(CODE, "nl.load_transpose2d")
def load_transpose2d(call: Call) -> Instruction:
    """A DMA that walks the source by columns."""
    src = of_rank(call.scope, call.tensor("src"), 2)
    if src.space != "hbm" or src.dims is None or len(src.dims) != 2:
        raise call.refuse(CODE, "load_transpose2d of a tensor that is not known to have two dimensions", "index it")
    if call.scope.masks.clamps:
        raise call.refuse(codes.MASKS, "a mask on load_transpose2d", "clamp the source by hand")
    dtype = call.dtype()
    turned = permuted(call.scope, call.node, src, (0,))
    given: list[tuple[str, Operand | str]] = [("src", turned)]
    return Instruction("dma_copy", given, turned.dims, dtype or src.dtype, explicit=dtype is not None)


@lowers(CODE, "nl.mean")
def mean(call: Call) -> Instruction:
    """The sum in fp32, times the reciprocal of the count."""
    x = call.tensor("x")
    axes = reduced_axes(call.arguments["axis"], x.dims)
    if axes is None:
        raise call.refuse(CODE, "a mean over an axis that is not a literal", "write the axis as a number")
    x = of_rank(call.scope, x, 2) if axes == (1,) else x
    if set(call.scope.masks.clamps) - {0} or x.dims is None:
        what = "a mean under a mask that is not of rows alone, or of a tile whose shape is not known"
        raise call.refuse(CODE, what, "sum, then multiply")
    given: list[tuple[str, Operand | str]] = [("op", f"{call.scope.nl}.add"), ("data", x)]
    if call.has("keepdims"):
        given.append(("keepdims", render(call.scope, call.arguments["keepdims"])))
    total = reduction(call, given, call.arguments["axis"])
    total = replace(total, dtype=f"{call.scope.nl}.float32", explicit=False)
    count = algebra.multiply("1", *(x.dims[a] for a in axes))
    dtype = call.dtype()
    summed = materialized(call.scope, call.node, total)
    factor = f"1.0 / {algebra.paren(count)}"
    parts: list[tuple[str, Operand | str]] = [
        ("data", summed),
        ("op0", f"{call.scope.nl}.multiply"),
        ("operand0", factor),
    ]
    if dtype is None:
        assert_float(call.scope, x.dtype)  # that of integers is a float32
    natural = f"{call.scope.nl}.float32" if is_integer(call.scope, x.dtype) else x.dtype
    return Instruction("tensor_scalar", parts, summed.dims, dtype or natural, explicit=dtype is not None)


@lowers(CODE, "nl.where")
def where(call: Call) -> Instruction:
    """One of two tiles, or of a tile and a number."""
    return chosen_elements(call)


def lower_operator(scope: Scope, node: ast.BinOp | ast.UnaryOp | ast.Compare) -> Instruction:
    """A Python operator on tiles."""
    scope.apply(CODE, node)
    if isinstance(node, ast.Compare):
        compared, truth = comparison_token(scope, node), truth_type(scope, node)
        return replace(combine(scope, node, compared, node.left, node.comparators[0], truth), explicit=False)
    if isinstance(node, ast.UnaryOp):
        return negated(scope, node.operand, None) if isinstance(node.op, ast.USub) else inverted(scope, node)
    if isinstance(node.op, ast.Mod):
        return remainder(scope, node, node.left, node.right, None)
    token = _OPERATORS.get(type(node.op))
    if token is None:
        raise Refuse(node, CODE, "an operator on tiles that Beta 2 has no token for", "use nisa.tensor_tensor")
    if token == "divide":
        return division(scope, node, node.left, node.right, None)
    return combine(scope, node, token, node.left, node.right, None)


def combine(scope: Scope, node: ast.expr, token: str, x: ast.expr, y: ast.expr, dtype: str | None) -> Instruction:
    """``x token y``: ``tensor_tensor`` for two tiles of one shape, ``tensor_scalar`` with a number or a (P, 1) tile."""
    a: Operand | str
    b: Operand | str
    beside = beside_number(scope, token, x, y)
    if beside is not None:
        with masked(scope, beside[0]):
            instruction = lower(scope, beside[0])
            both = fused(scope, instruction, token, beside[1], beside[2], dtype)
            if both is not None:
                return both
            made = temporary_of(scope, beside[0], instruction)
        a, b = (render(scope, x), made) if beside[2] else (made, render(scope, y))
    else:
        a, b = operand_or_text(scope, x), operand_or_text(scope, y)
    if isinstance(a, Operand) and isinstance(b, Operand):
        of_tiles = promotion_of_bits if token in BITWISE else promotion
        natural = Promotion(dtype) if dtype else of_tiles(scope, a.dtype, b.dtype)
        instruction = combined(scope, node, token, a, b, natural.dtype)
    elif isinstance(a, str) and isinstance(b, str):
        raise Refuse(node, CODE, "neither operand is known to be a tensor", "pass tiles")
    else:
        tile, scalar, reverse = (a, b, False) if isinstance(a, Operand) else (b, a, True)
        assert isinstance(tile, Operand)
        of_number = promotion_of_bits_with_number if token in BITWISE else promotion
        number = x if reverse else y
        natural = Promotion(dtype) if dtype else of_number(scope, tile.dtype, scalar_type(scope, number))
        instruction = with_scalar(scope, node, token, tile, scalar, reverse, natural.dtype)
    return replace(instruction, conditions=natural.conditions, explicit=dtype is not None)
