"""NKI028 isa-special: instructions whose result has a shape of its own, and those that had a destination already.

Why: ``nisa.max8`` gives (P, 8), ``nisa.bn_stats`` (P, 6), ``nisa.bn_aggr`` (P, 2): the destination is declared with
that shape. ``nisa.iota`` takes ``pattern=``, ``offset=`` and ``channel_multiplier=`` instead of an index expression.
``nl.gather_flattened`` is ``nisa.nc_n_gather``, whose destination has the shape of the positions.
``nisa.tensor_copy_predicated`` and others that named their destination name it first, and a 2-D ``nisa.dma_transpose``
is written with the four dimensions that Beta 2 wants.

Safe: the instruction is the same. Left alone: index expressions that are not affine, shapes that the source does not
tell.

Source: NKI migration guide, "All ISA functions require a destination parameter"; documentation of ``nki.isa`` 2.28.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from ..analysis.instructions import Instruction, commands, lowers
from ..analysis.maybe_tensors import may_be_no_number
from ..analysis.scope import Scope
from ..expr import algebra
from ..expr.operands import Operand, Step
from ..expr.values import Index
from ..lower.compute import Call
from ..render.clipping import cut
from ..render.expressions import render
from ..render.index import index_value
from ..render.patterns import as_pattern, of_rank, with_pattern
from .isa_destination import arguments, cut_and_move, like
from .operator_tokens import token

CODE = "NKI028"
GOLDENS = ("isa_special", "gathered", "gather_instruction")

_COLUMNS = {"nisa.bn_stats": "6", "nisa.bn_aggr": "2", "nisa.max8": "8", "nisa.nc_find_index8": "8"}
"""Columns of the result, by function: it has a row for each partition of the operand."""


@lowers(CODE, *_COLUMNS)
def columns(call: Call) -> Instruction:
    function = call.name.partition(".")[2]
    data = "src" if function == "max8" else "data"
    given = arguments(call, (data, "vals"))
    operand = dict(given)[data]
    if isinstance(operand, str):
        raise call.refuse(CODE, f"the operand '{data}' of {call.name} is not known to be a tensor", "pass a tile")
    rows = operand.dims[0] if operand.dims else f"{operand.base}.shape[0]" if operand.like else None
    if rows is None:
        raise call.refuse(CODE, f"{call.name} of a tile whose shape is not known", "declare the destination")
    natural = f"{call.scope.nl}.uint32" if function == "nc_find_index8" else operand.dtype
    dtype = call.dtype()
    if call.scope.masks.clamps and operand.dims is not None:
        views = {data: cut_and_move(call, operand, (0, *[None] * (len(operand.dims) - 1)))}
        rest = list(call.scope.masks.clamps.values())
        for name, value in given:
            if name != data and isinstance(value, Operand):
                views[name] = cut(call.scope, call.node, value, rest)
        given = [(name, views.get(name, value)) for name, value in given]
    return Instruction(
        function,
        given,
        (rows, _COLUMNS[call.name]),
        dtype or natural,
        explicit=dtype is not None,
        cut=operand.dims is not None,
        precut=True,
    )


@lowers(CODE, "nl.gather_flattened", "nisa.nc_n_gather")
def gather(call: Call) -> Instruction:
    """The result has the shape of the positions, and the type of what they are positions in."""
    given = arguments(call, ("data", "indices"))
    data, indices = (dict(given)[name] for name in ("data", "indices"))
    if isinstance(data, str) or isinstance(indices, str):
        raise call.refuse(CODE, f"the operands of {call.name} are not known to be tensors", "pass tiles")
    if call.scope.masks.clamps:
        raise call.refuse(CODE, f"a mask on {call.name}", "cut the operands by hand, and declare the destination")
    if call.dtype() is not None:
        raise call.refuse(CODE, f"{call.name} with another type than that of 'data'", "copy the result into a tile")
    return Instruction("nc_n_gather", given, indices.dims, data.dtype, like=indices.like)


@lowers(CODE, "nisa.nc_match_replace8")
def nc_match_replace8(call: Call) -> Instruction:
    return replace(like(call, "nc_match_replace8", ("data", "vals", "imm", "dst_idx"), "data"), cut=False)


@lowers(CODE, "nisa.range_select")
def range_select(call: Call) -> Instruction:
    if "reduce_cmd" in call.arguments or "on_false_value" in call.arguments:
        raise call.refuse(
            CODE, "range_select with reduce_cmd= or on_false_value=", "Beta 2 resets, and selects the smallest float32"
        )
    tokens: list[tuple[str, Operand | str]] = [(name, token(call, name)) for name in ("comp_op0", "comp_op1")]
    call.arguments = {name: value for name, value in call.arguments.items() if name not in dict(tokens)}
    order = ("on_true_tile", "bound0", "bound1", "reduce_res", "reduce_op", "range_start")
    instruction = like(call, "range_select", order, "on_true_tile")
    instruction.arguments[1:1] = tokens
    return replace(instruction, cut=False)


@lowers(CODE, "nisa.tensor_partition_reduce")
def tensor_partition_reduce(call: Call) -> Instruction:
    instruction = like(call, "tensor_partition_reduce", ("op", "data"), "data")
    if instruction.dims is None:
        raise call.refuse(CODE, "a reduction of a tile whose shape is not known", "declare the destination")
    return replace(instruction, dims=("1", *instruction.dims[1:]), like="", cut=False)


@commands(
    CODE,
    {
        "nisa.tensor_copy_predicated": ("src", "predicate", "reverse_pred"),
        "nisa.nc_stream_shuffle": ("src", "shuffle_mask"),
        "nisa.select_reduce": (
            "predicate",
            "on_true",
            "on_false",
            "reduce_res",
            "reduce_cmd",
            "reduce_op",
            "reverse_pred",
        ),
    },
)
def command(call: Call, order: tuple[str, ...]) -> tuple[Operand, Instruction]:
    """An instruction that named its destination in Beta 1 too."""
    dst = call.tensor("dst")
    call.arguments = {name: value for name, value in call.arguments.items() if name != "dst"}
    given = [(n, _as_wide(call, v, dst) if n == "predicate" else v) for n, v in arguments(call, order)]
    return dst, Instruction(call.name.partition(".")[2], given, dst.dims, dst.dtype)


def _as_wide(call: Call, predicate: Operand | str, dst: Operand) -> Operand | str:
    """A predicate of (partitions, 1), or of the first dimensions of ``dst``: each element counts for several."""
    if not isinstance(predicate, Operand) or predicate.dims is None or dst.dims is None or len(predicate.dims) < 2:
        return predicate
    scope, own, wide = call.scope, predicate.dims, dst.dims
    column = all(scope.constant(n) == 1 for n in own[1:]) and not all(scope.constant(n) == 1 for n in wide[1:])
    same = scope.equal(algebra.multiply("1", *own[1:]), algebra.multiply("1", *wide[1:]))
    if scope.masks.clamps or not (column or (len(own) < len(wide) and not same)):
        return predicate
    kept = own[:1] if column else own
    for n, size in zip(kept, wide, strict=False):
        scope.assert_equal(n, size, "a predicate of the first dimensions")
    view, steps = as_pattern(scope, call.node, predicate)
    repeated = [Step("0", size) for size in wide[len(kept) :]]
    return with_pattern(view, [*steps[: len(kept)], *repeated], view.offset, [None] * len(wide))


@lowers(CODE, "nisa.iota")
def iota(call: Call) -> Instruction:
    """An affine index expression as steps: of the partitions, of the free dimensions, and where they start."""
    expression = call.arguments["expr"]
    value = index_value(call.scope, expression)
    if value is None and not may_be_no_number(call.scope, expression):
        value = Index(0, (), render(call.scope, expression))
    dtype = call.dtype()
    if not isinstance(value, Index) or dtype is None or call.scope.masks.clamps:
        raise call.refuse(CODE, "an iota that is not one affine index expression", "write pattern= and offset= by hand")
    rank = max(value.ndim, 2)
    sizes, steps, offset = ["1"] * rank, ["0"] * rank, value.offset
    for term in (*value.mates, *value.terms):
        position = term.position + rank - value.ndim
        repeats = term in value.mates
        if steps[position] != "0":
            raise call.refuse(CODE, "an iota over several vectors in one dimension", "write pattern= by hand")
        sizes[position] = term.axis.size
        if not repeats:
            steps[position] = term.coefficient
            offset = algebra.add(offset, algebra.multiply(term.coefficient, term.axis.start))
    pattern = ", ".join(f"[{step}, {size}]" for step, size in zip(steps[1:], sizes[1:], strict=True))
    given: list[tuple[str, Operand | str]] = [
        ("pattern", f"[{pattern}]"),
        ("offset", offset),
        ("channel_multiplier", steps[0]),
    ]
    return Instruction("iota", given, tuple(sizes), dtype, explicit=True)


@lowers(CODE, "nisa.dma_transpose")
def dma_transpose(call: Call) -> Instruction:
    """A 2-D transpose, as the permutation (3, 1, 2, 0) of four dimensions."""
    axes = render(call.scope, call.arguments["axes"]) if call.has("axes") else "(1, 0)"
    src = of_rank(call.scope, call.tensor("src"), 2)
    two = src.dims is not None and len(src.dims) == 2 and axes.strip("[]()") == "1, 0"
    if not two or src.dims is None or call.scope.masks.clamps:
        raise call.refuse(CODE, "a dma_transpose that is not of two dimensions", "write it with four dimensions")
    if call.has("dtype") and not call.scope.same_dtype(call.dtype(), src.dtype):
        raise call.refuse(
            CODE, "a dma_transpose into another type", "transpose into a tile of its type, then copy that"
        )
    rows, columns = src.dims
    given: list[tuple[str, Operand | str]] = [("src", in_four(call.scope, call.node, src)), ("axes", "(3, 1, 2, 0)")]
    return Instruction(
        "dma_transpose",
        given,
        (columns, rows),
        src.dtype,
        explicit=True,  # into a tile of another type it is converted behind the transpose
        cut=False,
        shaped=in_four,
    )


def in_four(scope: Scope, node: ast.expr, view: Operand) -> Operand:
    """A 2-D access with two dimensions of size 1 in its middle."""
    view, (first, last) = as_pattern(scope, node, view)
    return with_pattern(view, [first, Step("1", "1"), Step("1", "1"), last], view.offset, [None] * 4)
