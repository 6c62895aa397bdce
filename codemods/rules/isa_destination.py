"""NKI021 isa-destination: every ``nisa`` instruction gets its destination, as ``dst=``, and keyword arguments.

Why: Beta 1 instructions return a tile, Beta 2 instructions write where they are told. ``t[...] = nisa.f(x)`` becomes
``nisa.f(dst=t, data=x)``; ``y = nisa.f(x)`` declares ``y`` first, with the shape, type and memory that Beta 1 gave
the result. ``y = nisa.f(y)`` writes where it reads, if no other name, part, list or function holds the tile ``y`` and
each element comes of the same element. Arguments are passed by keyword, because Beta 2's positional order has hidden
parameters. A (P, 1) operand of ``tensor_tensor`` is read with a step of 0, and so is a column that Beta 1 repeats over
a larger destination, or a row that a DMA takes from HBM. A ``dtype=`` that may be ``None`` is the type of the operands,
or of the destination, then. ``x.view(t)`` names its shape, and the kernel asserts the rank of operands of matmuls and
transposes where the source does not tell it. A reduction over axes that only a trace tells is one over the last
dimensions, as the documentation of Beta 1 asks: the kernel asserts it.

Safe: the instruction is the same. Two tiles of ``tensor_tensor`` whose shapes the source does not tell are taken to be
equal, as a note says: Beta 1 repeated a column, Beta 2 refuses it. Left alone: results whose shape or type the source
does not tell, those of one partition in a place of several, and parts of tiles from partitions that no engine reaches
(Beta 1 moved them): where the source does not tell the partition, or that a transpose out of PSUM is small, a note says
what is taken for true.

Declared: instructions more, and the same numbers, where no tile has an address. What is computed for a larger
destination is in a tile of its own, and copied. A ``dtype=`` that the source does not prove to be the destination's is
rounded to in a tile of its own, and copied (Beta 1 did so where they differ); a transpose into PSUM that converts is a
transpose and a copy, in a function that the rewrite adds where only a call tells the types; what an engine cannot read
from PSUM is copied to SBUF first. A result in the place of what was read last has one tile where the old one had two.

Source: NKI migration guide, "All ISA functions require a destination parameter"; nki.isa of the 2.28 API reference.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from nki_migrate.runtime.spec.instructions import VECTOR_TRANSPOSE

from ..analysis.instructions import Instruction, lowers
from ..analysis.maybe_tensors import is_number
from ..analysis.scope import is_tile
from ..expr import algebra
from ..expr.emission import Refuse
from ..expr.operands import Operand
from ..expr.values import Mask
from ..lower.access import operand as operand_of
from ..lower.choices_of_tiles import TILES_OR_NUMBERS, tile_or_number
from ..lower.compute import Call, copy_of, in_sbuf, materialized
from ..lower.products import cut_product, operand_masks
from ..lower.repeated_operands import repeated_operands, take_one_shape
from ..render.clipping import cut, kept
from ..render.dtypes import promotion, type_name
from ..render.expressions import render, render_named
from ..render.patterns import of_rank, permuted
from ..render.shapes import literal_axes, reduced_axes, shape_text
from ..render.support import reduced_axes_function, reduced_shape_function
from ..syntax import codes
from ..syntax.node_index import walk
from ..syntax.nodes import is_shape
from .masks import CODE as MASKS
from .operator_tokens import PARAMETERS, token

CODE = codes.ISA_DESTINATION
GOLDENS = ("isa_destination", "isa_operands", "in_place", "tensor_tuples", "given_tensors", "scan_state")

_DROPPED = {"mask", "dtype", "name"}


def arguments(call: Call, order: tuple[str, ...]) -> list[tuple[str, Operand | str]]:
    """The arguments that the source gave, in Beta 2's order and spelling."""
    unknown = [name for name in call.arguments if name not in order and name not in _DROPPED]
    if unknown:
        raise call.refuse(CODE, f"{call.name} with {unknown[0]}=", "Beta 2 does not have this parameter")
    result: list[tuple[str, Operand | str]] = []
    for name in order:
        if name not in call.arguments:
            continue
        if name == "op" or (name in PARAMETERS and call.has(name)):
            result.append((name, token(call, name)))
        elif call.has(name):
            either = tile_or_number(call.scope, call.arguments[name]) if name in TILES_OR_NUMBERS else None
            result.append((name, call.value(name) if either is None else either))
    return result


def like(call: Call, function: str, order: tuple[str, ...], data: str) -> Instruction:
    """An instruction whose result has the shape and type of its operand ``data``."""
    given = arguments(call, order)
    operand = dict(given)[data]
    if isinstance(operand, str):
        raise call.refuse(CODE, f"the operand '{data}' of {call.name} is not known to be a tensor", "pass a tile")
    dtype = call.dtype()
    return Instruction(
        function, given, operand.dims, dtype or operand.dtype, like=operand.like, explicit=dtype is not None
    )


@lowers(CODE, "nisa.activation")
def activation(call: Call) -> Instruction:
    order = ("op", "data", "bias", "scale", "reduce_op", "reduce_res", "reduce_cmd")
    instruction = like(call, "activation", order, "data")
    _bias_is_a_tile(call, instruction)
    return instruction


@lowers(CODE, "nisa.activation_reduce")
def activation_reduce(call: Call) -> Instruction:
    order = ("op", "data", "reduce_op", "reduce_res", "bias", "scale")
    instruction = like(call, "activation_reduce", order, "data")
    _bias_is_a_tile(call, instruction)
    return instruction


def _bias_is_a_tile(call: Call, instruction: Instruction) -> None:
    for name, value in instruction.arguments:
        if name == "bias" and isinstance(value, str):
            raise call.refuse(CODE, "a bias that is a number", "fill a (partitions, 1) tile with nisa.memset")


@lowers(CODE, "nisa.tensor_scalar")
def tensor_scalar(call: Call) -> Instruction:
    order = ("data", "op0", "operand0", "reverse0", "op1", "operand1", "reverse1", "engine")
    return like(call, "tensor_scalar", order, "data")


@lowers(CODE, "nisa.tensor_scalar_reduce")
def tensor_scalar_reduce(call: Call) -> Instruction:
    order = ("data", "op0", "operand0", "reduce_op", "reduce_res", "reverse0")
    return like(call, "tensor_scalar_reduce", order, "data")


@lowers(CODE, "nisa.reciprocal")
def reciprocal(call: Call) -> Instruction:
    return like(call, "reciprocal", ("data",), "data")


@lowers(CODE, "nisa.scalar_tensor_tensor")
def scalar_tensor_tensor(call: Call) -> Instruction:
    order = ("data", "op0", "operand0", "op1", "operand1", "reverse0", "reverse1")
    instruction = like(call, "scalar_tensor_tensor", order, "data")
    other = dict(instruction.arguments)["operand1"]
    take_one_shape(call, instruction, "data", "operand1")
    if not instruction.explicit:
        instruction = _promoted(call, instruction, other)
    return instruction


@lowers(CODE, "nisa.tensor_copy")
def tensor_copy(call: Call) -> Instruction:
    return like(call, "tensor_copy", ("src", "engine"), "src")


@lowers(CODE, "nisa.tensor_tensor")
def tensor_tensor(call: Call) -> Instruction:
    instruction = like(call, "tensor_tensor", ("data1", "data2", "op", "engine"), "data1")
    given = dict(instruction.arguments)
    a, b = given["data1"], given["data2"]
    if isinstance(a, Operand) and isinstance(b, Operand):
        instruction = repeated_operands(call, instruction, a, b)
        if not instruction.explicit:
            instruction = _promoted(call, replace(instruction, dtype=a.dtype), b)
    return instruction


@lowers(CODE, "nisa.tensor_tensor_scan")
def tensor_tensor_scan(call: Call) -> Instruction:
    order = ("data0", "data1", "initial", "op0", "op1", "reverse0", "reverse1")
    instruction = like(call, "tensor_tensor_scan", order, "data0")
    given = dict(instruction.arguments)
    b = given["data1"]
    if not instruction.explicit:
        instruction = _promoted(call, instruction, b)
    return instruction


def _promoted(call: Call, instruction: Instruction, other: Operand | str) -> Instruction:
    """An instruction whose result has the type of an operation on its own type and that of another operand."""
    found = promotion(call.scope, instruction.dtype, None if isinstance(other, str) else other.dtype)
    return replace(instruction, dtype=found.dtype, conditions=found.conditions)


@lowers(CODE, "nisa.nc_matmul")
def nc_matmul(call: Call) -> Instruction:
    order = (
        "stationary",
        "moving",
        "is_stationary_onezero",
        "is_moving_onezero",
        "is_transpose",
        "tile_position",
        "tile_size",
    )
    double = _double_row(call)
    masks = operand_masks(call, "stationary", "moving")
    given = [
        (name, in_sbuf(call.scope, call.node, value) if isinstance(value, Operand) else value)
        for name, value in arguments(call, order)
    ]
    stationary, moving = dict(given)["stationary"], dict(given)["moving"]
    same_precision(call, stationary, moving)
    if double:
        if any(masks):
            raise call.refuse(MASKS, "an operand mask of a double row matmul", "clamp the operands by hand")
        return _double_product(call, [*given, ("perf_mode", double)])
    return product(call, given, _product_type(call, stationary), masks=masks)


def _product_type(call: Call, stationary: Operand | str) -> str:
    """The type that a matmul leaves in PSUM: float32, from gen3 on that of the operand that ``is_transpose=`` turns.

    Source: Trainium2 architecture guide, "Built-in Transpose Support".
    """
    scope, turned = call.scope, call.arguments.get("is_transpose")
    wide = f"{scope.nl}.float32"
    if turned is None or (isinstance(turned, ast.Constant) and not turned.value) or isinstance(stationary, str):
        return wide
    if stationary.dtype is None:
        raise call.refuse(CODE, "is_transpose= of a tile whose type is not known", "declare the PSUM tile")
    if type_name(scope, stationary.dtype) == "float32":
        return wide
    old = f"{scope.nisa}.get_nc_version() == {scope.nisa}.nc_version.gen2"
    plain = old if isinstance(turned, ast.Constant) else f"{old} or not {algebra.paren(render(scope, turned))}"
    return algebra.choice(plain, wide, stationary.dtype)


def _double_row(call: Call) -> str:
    """Beta 2's ``perf_mode=`` of a matmul that takes two rows at a time; empty for any other."""
    mode = call.arguments.pop("perf_mode", None)
    value = mode.value if isinstance(mode, ast.Constant) else mode
    if value in (None, "", "none"):
        return ""
    if value not in ("double_row", "double_row_gen3"):
        raise call.refuse(CODE, "nisa.nc_matmul with a perf_mode= that Beta 2 does not have", "use double_row")
    return f"{call.scope.nisa}.matmul_perf_mode.double_row"


def _double_product(call: Call, given: list[tuple[str, Operand | str]]) -> Instruction:
    """A matmul of (K, 2, M) and (K, 2, N)."""
    sides = [value.dims for _, value in given[:2] if isinstance(value, Operand)]
    if call.scope.masks.clamps or len(sides) != 2 or any(dims is None or len(dims) != 3 for dims in sides):
        raise call.refuse(CODE, "a double row matmul of tiles that are not (K, 2, columns)", "write it by hand")
    dims = tuple(size[2] for size in sides if size is not None)
    return Instruction("nc_matmul", given, dims, f"{call.scope.nl}.float32", "psum", cut=False)


def product(
    call: Call,
    given: list[tuple[str, Operand | str]],
    dtype: str,
    *,
    explicit: bool = False,
    masks: tuple[list[Mask], list[Mask]] = ([], []),
) -> Instruction:
    """``nc_matmul`` of the operands ``given``, of which ``masks`` leave a part each, into ``dtype``."""
    if any(masks):
        given = flat(call, given)
    stationary, moving = dict(given)["stationary"], dict(given)["moving"]
    dims = None
    if isinstance(stationary, Operand) and isinstance(moving, Operand) and stationary.dims and moving.dims:
        dims = (algebra.multiply(*stationary.dims[1:]), *moving.dims[1:])
        left, right = cut_product(call, stationary, moving, masks)
        given = [(n, {"stationary": left, "moving": right}.get(n, value)) for n, value in given]
    elif any(masks):
        raise call.refuse(
            MASKS, "an operand mask of a tile whose dimensions are not known", "clamp the operands by hand"
        )

    def ranked() -> Instruction:
        return product(call, flat(call, given), dtype, explicit=explicit)

    known = dims is not None
    return Instruction(
        "nc_matmul", given, dims, dtype, "psum", explicit=explicit, cut=known, precut=known, ranked=ranked
    )


def flat(call: Call, given: list[tuple[str, Operand | str]]) -> list[tuple[str, Operand | str]]:
    """Operands with two dimensions: the kernel asserts it of those whose rank the source does not tell."""
    return [(name, of_rank(call.scope, value, 2) if isinstance(value, Operand) else value) for name, value in given]


def same_precision(call: Call, a: Operand | str, b: Operand | str) -> None:
    """TensorE multiplies float32 with float32 only: types that a call of the kernel tells are assumed to be so."""
    types = [x.dtype for x in (a, b) if isinstance(x, Operand)]
    kinds = [type_name(call.scope, dtype) for dtype in types]
    if "float32" in kinds and len(set(kinds)) > 1 and None not in kinds:
        raise call.refuse(CODE, f"a matmul of {' and '.join(sorted(k or '' for k in kinds))}", "convert one of them")
    if len(types) < 2 or None in types or None not in kinds or call.scope.same_dtype(*types):
        return
    known = next((kind for kind in kinds if kind is not None), None)
    if known is None:
        condition = f"({types[0]} == {call.scope.nl}.float32) == ({types[1]} == {call.scope.nl}.float32)"
    else:
        open_type = types[kinds.index(None)]
        condition = f"{open_type} {'==' if known == 'float32' else '!='} {call.scope.nl}.float32"
    call.scope.assume(condition, "a matmul of Beta 2 takes two float32 tiles, or none")


@lowers(CODE, "nisa.nc_transpose")
def nc_transpose(call: Call) -> Instruction:
    given = arguments(call, ("data", "engine"))
    data = dict(given)["data"]
    if isinstance(data, str):
        raise call.refuse(CODE, "the operand 'data' of nc_transpose is not known to be a tensor", "pass a tile")
    engine = _engine(call)
    if engine != "vector" and data.perhaps_psum and not call.scope.memory.direct:
        data = _read_from_psum(call, engine, data)
        given = [(name, data if name == "data" else value) for name, value in given]
    dtype, turned = call.dtype(), _turned(call, given, data, "sbuf" if engine == "vector" else "psum")
    if dtype is None or call.scope.same_dtype(dtype, data.dtype):
        return turned
    copied = copy_of(materialized(call.scope, call.node, turned))  # a transpose keeps the type, a copy converts
    return replace(copied, dtype=dtype, space=turned.space, explicit=True)


def _engine(call: Call) -> str:
    """The engine that a transpose names, which decides where its result is; empty where the compiler chooses."""
    if not call.has("engine"):
        return ""
    scope = call.scope
    node: ast.expr = call.arguments["engine"]
    known = scope.sizes.definitions.get(node.id) if isinstance(node, ast.Name) else None
    name = (scope.qualified(algebra.parse(known) if known else node) or "").rpartition(".")[2]
    engine = name.removesuffix("_engine")
    if engine not in ("vector", "tensor", "unknown"):
        raise call.refuse(CODE, f"the engine of {call.name} is not known", "name it in the call, nisa.vector_engine")
    return engine if engine != "unknown" else ""


def _read_from_psum(call: Call, engine: str, data: Operand) -> Operand:
    """What is transposed out of PSUM: by the Vector Engine, or copied first, as the Tensor Engine cannot read it."""
    sizes = (data.rows, algebra.multiply(*data.dims[1:])) if data.dims else ()
    known = [call.scope.constant(size) for size in sizes]
    small = [f"{size} <= {VECTOR_TRANSPOSE}" for size, n in zip(sizes, known, strict=True) if n is None]
    if engine == "tensor" or any(n is not None and n > VECTOR_TRANSPOSE for n in known):
        return in_sbuf(call.scope, call.node, data)
    if small and data.space == "psum":
        call.scope.assume(" and ".join(small), "the Vector Engine, which reads PSUM, transposes no larger tiles")
    return data


def _turned(call: Call, given: list[tuple[str, Operand | str]], data: Operand, space: str) -> Instruction:
    if data.dims is None:

        def ranked() -> Instruction:
            known = flat(call, given)
            tile = dict(known)["data"]
            assert isinstance(tile, Operand)
            return _turned(call, known, tile, space)

        return Instruction("nc_transpose", given, None, data.dtype, space, cut=False, ranked=ranked)
    dims = (algebra.multiply(*data.dims[1:]), data.dims[0])
    if len(data.dims) > 2 and any(clamp.position for clamp in call.scope.masks.clamps.values()):
        raise call.refuse(MASKS, "a mask on one of several free dimensions of a transpose", "clamp the data by hand")
    cut_data = cut_and_move(call, data, (1, 0) if len(data.dims) == 2 else (1, *[None] * (len(data.dims) - 1)))
    given = [(name, cut_data if name == "data" else value) for name, value in given]
    return Instruction("nc_transpose", given, dims, data.dtype, space, precut=True)


@lowers(CODE, "nisa.tensor_reduce")
def tensor_reduce(call: Call) -> Instruction:
    axis = call.arguments.pop("axis")
    return reduction(call, arguments(call, ("op", "data", "negate", "keepdims")), axis)


_AXIS = {1: "1", 2: "[3, 4]", 3: "[2, 3, 4]", 4: "[1, 2, 3, 4]"}
"""How Beta 2 names the innermost dimensions, by their number: it counts as if every tile had five."""


def reduction(call: Call, given: list[tuple[str, Operand | str]], axis: ast.expr) -> Instruction:
    """``tensor_reduce`` over free dimensions: Beta 2 reduces the innermost ones, so others are moved there."""
    data, literal = dict(given)["data"], literal_axes(axis)
    if isinstance(data, Operand) and data.dims is None and literal == (1,):
        data = of_rank(call.scope, data, 2)
        given = [(name, data if name == "data" else value) for name, value in given]
    if isinstance(data, str) or (data.dims is None and not data.like):
        raise call.refuse(CODE, "a reduction of a tensor whose shape is not known", "write nisa.tensor_reduce by hand")
    literal = reduced_axes(axis, data.dims)
    if data.dims is None or literal is None:
        return _traced_reduction(call, given, data, axis)
    return _literal_reduction(call, given, axis, data, data.dims, literal)


def _literal_reduction(
    call: Call,
    given: list[tuple[str, Operand | str]],
    axis: ast.expr,
    data: Operand,
    dims: tuple[str, ...],
    literal: tuple[int, ...],
) -> Instruction:
    """A reduction of ``data``, of the shape ``dims``, over axes that the source names: ``literal``."""
    rank = len(dims)
    axes, keepdims = _free_axes(call, literal, axis, rank), _keeps_axes(call, given)
    stays = [d for d in range(rank) if d not in axes or keepdims]
    sizes = tuple("1" if d in axes else dims[d] for d in stays)
    keeps = tuple(None if d in axes else stays.index(d) for d in range(rank))
    data = cut_and_move(call, data, keeps, max(2, len(stays)))
    if axes[0] != rank - len(axes):
        data = permuted(call.scope, call.node, data, axes)
    given = [(name, data if name == "data" else value) for name, value in given if name not in ("axis", "keepdims")]
    given.insert([name for name, _ in given].index("data") + 1, ("axis", _AXIS[len(axes)]))
    dtype = call.dtype()
    result = sizes if len(sizes) > 1 else (*sizes, "1")
    return Instruction("tensor_reduce", given, result, dtype or data.dtype, explicit=dtype is not None, precut=True)


def _keeps_axes(call: Call, given: list[tuple[str, Operand | str]]) -> bool:
    """Does the result of a reduction have the reduced axes?"""
    keepdims = dict(given).get("keepdims", "False")
    if keepdims not in ("True", "False"):
        raise call.refuse(CODE, "a reduction with keepdims= that is not a literal", "write the shape of the result")
    return keepdims == "True"


def _free_axes(call: Call, literal: tuple[int, ...], axis: ast.expr, rank: int) -> tuple[int, ...]:
    """The axes of a reduction in ascending order, counted from the first; they are free dimensions, each named once."""
    axes = tuple(sorted(a % rank if -rank <= a < rank else a for a in literal))
    if not axes or len(set(axes)) != len(axes) or axes[0] < 1 or axes[-1] >= rank or len(axes) > len(_AXIS):
        raise call.refuse(CODE, f"a reduction over axes {ast.unparse(axis)} of {rank} dimensions", "reduce free axes")
    return axes


def _traced_reduction(call: Call, given: list[tuple[str, Operand | str]], data: Operand, axis: ast.expr) -> Instruction:
    """A reduction whose axes, or their number, only a trace tells: the kernel asserts that they are the last ones."""
    scope = call.scope
    if not is_number(scope, axis) or any(isinstance(part, ast.Starred) for part in walk(axis)):
        raise Refuse(axis, CODE, "a reduction over an axis that is not known to be a number", "write the axis as one")
    if dict(given).get("keepdims", "False") != "False":
        raise call.refuse(
            CODE, "a reduction with keepdims= over axes that are no literals", "write the axes as numbers"
        )
    if scope.masks.clamps:
        raise call.refuse(
            MASKS, "a mask on index vectors of a reduction over axes that are no literals", "clamp the data"
        )
    axes, shape = render_named(scope, axis), shape_text(scope, data.dims, data.like)
    given = [(name, value) for name, value in given if name not in ("axis", "keepdims")]
    place = [name for name, _ in given].index("data") + 1
    given.insert(place, ("axis", f"{reduced_axes_function(scope)}({shape}, {axes})"))
    left = f"{reduced_shape_function(scope)}({shape}, {axes})"
    dtype = call.dtype()
    return Instruction(
        "tensor_reduce", given, None, dtype or data.dtype, like=left, explicit=dtype is not None, perhaps_column=True
    )


def cut_and_move(call: Call, data: Operand, keeps: tuple[int | None, ...], rank: int = 2) -> Operand:
    """``data`` cut by the call's mask, whose bounds are those of the result (of ``rank`` dimensions) from here on.

    ``keeps`` says which dimension of the result each dimension of ``data`` becomes.
    """
    scope = call.scope
    clamps = list(scope.masks.clamps.values())
    if not clamps:
        return data
    scope.masks.clamps = kept(clamps, keeps, rank)
    return cut(scope, call.node, data, clamps)


@lowers(CODE, "nisa.memset")
def memset(call: Call) -> Instruction:
    shape = call.arguments["shape"]
    given: list[tuple[str, Operand | str]] = [("value", call.value("value"))]
    if isinstance(shape, ast.Tuple | ast.List):
        dims = tuple(render(call.scope, size) for size in shape.elts)
        return Instruction("memset", given, dims, call.dtype(), explicit=True)
    same = operand_of(call.scope, shape.value) if is_shape(shape) else None
    if same is None or not is_tile(same.value):
        raise call.refuse(
            CODE, "nisa.memset of a shape that is not a tuple", "declare the tile, then nisa.memset(dst=)"
        )
    return Instruction("memset", given, same.dims, call.dtype(), like=same.like, explicit=True)
