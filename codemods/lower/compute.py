"""Computations: a Beta 1 call or operator that returns a tile becomes a Beta 2 instruction with a destination.

Source: NKI migration guide, "All ISA functions require a destination parameter".
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace

from ..analysis.instructions import HANDLERS, KEEPERS, Instruction, Part, has_again
from ..analysis.maybe_tensors import may_be_no_number
from ..analysis.scope import Scope
from ..expr import algebra
from ..expr.emission import New, Refuse
from ..expr.frames import Clamp
from ..expr.moves import Planned
from ..expr.operands import Operand
from ..expr.tables import parameters, required_parameters
from ..expr.values import Declaration, Tile
from ..plan.conversions import (
    assert_handed_back,
    assert_one_conversion,
    converts_in_psum,
    may_convert_in_psum,
    may_convert_in_sbuf,
)
from ..plan.in_place import overwritten
from ..plan.placement import check_skipped_rows, check_starts
from ..render.clipping import check_cut
from ..render.expressions import render
from ..render.masks import is_mask, mask_of
from ..render.open_ranks import assert_ranks
from ..render.optional_types import optional_type, type_or
from ..render.patterns import assert_rank, of_name, spread
from ..render.shapes import shape_text
from ..render.support import transposed_function
from ..render.type_names import dtype_text
from ..rules.masks import masked
from ..rules.psum_accumulation import bound_anew, check_group
from ..syntax import codes
from ..syntax.codes import MASKS
from .access import operand
from .choices_of_tiles import chosen_tile
from .computations import is_computation, method_of
from .fillings import as_large_as
from .first_elements import copy_rows, guard_rows
from .partitions import check_partitions
from .tile_names import name_of_more, result_name

DESTINATION = codes.ISA_DESTINATION


@dataclass
class Call:
    """A call of a Beta 1 function with its arguments by parameter name."""

    scope: Scope
    node: ast.Call
    name: str
    arguments: dict[str, ast.expr] = field(default_factory=dict)

    def refuse(self, code: str, message: str, help: str, applicability: str = "manual") -> Refuse:
        return Refuse(self.node, code, message, help, applicability)

    def has(self, parameter: str) -> bool:
        node = self.arguments.get(parameter)
        return node is not None and not (isinstance(node, ast.Constant) and node.value is None)

    def tensor(self, parameter: str) -> Operand:
        """The operand ``parameter``, computed into a temporary tile where it is itself a computation."""
        if parameter not in self.arguments:
            raise self.refuse(DESTINATION, f"{self.name} without '{parameter}'", "pass it by keyword")
        self._guard_operand(parameter)
        value = _computed(self.scope, self.arguments[parameter])
        if value is None:
            raise self.refuse(
                DESTINATION,
                f"the operand '{parameter}' of {self.name} is not known to be a tensor",
                "pass a tensor that this function declares or receives",
            )
        return value

    def _guard_operand(self, parameter: str) -> None:
        """Take a mask of conditions on numbers off an operand: it guards the instruction."""
        node = self.arguments[parameter]
        while isinstance(node, ast.Subscript) and is_mask(self.scope, node.slice):
            mask = mask_of(self.scope, node.slice)
            if mask.of_vectors:
                return
            self.scope.apply(MASKS, node)
            self.scope.guard(mask.conditions)
            node = self.arguments[parameter] = node.value

    def value(self, parameter: str) -> Operand | str:
        return operand_or_text(self.scope, self.arguments[parameter])

    def dtype(self) -> str | None:
        """The type that the call gives; ``None`` for one that may be ``None`` (:meth:`optional_dtype`), too."""
        given = self.has("dtype") and not self.optional_dtype()
        return dtype_text(self.scope, self.arguments["dtype"]) if given else None

    def optional_dtype(self) -> str:
        """The type that the call gives where that is not ``None``; empty where it certainly gives one, or none."""
        required = "dtype" in required_parameters(self.name)
        return optional_type(self.scope, self.arguments["dtype"]) if self.has("dtype") and not required else ""


def bound_call(scope: Scope, node: ast.Call, name: str) -> Call:
    """``node`` with its arguments bound to the parameters that Beta 1 documents."""
    call = Call(scope, node, name)
    known = parameters(name)
    if any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords):
        raise call.refuse(codes.LANGUAGE, f"{name} with starred arguments", "write the arguments out")
    call.arguments = dict(zip(known, node.args, strict=False))
    call.arguments.update({k.arg: k.value for k in node.keywords if k.arg})
    missing = [p for p in required_parameters(name) if p not in call.arguments]
    if missing:
        raise call.refuse(DESTINATION, f"{name} without '{missing[0]}', which Beta 1 requires", "pass it")
    return call


def operand_or_text(scope: Scope, node: ast.expr) -> Operand | str:
    """A tensor operand (nested computations go to temporary tiles), or a Python number as text.

    Raises :class:`Refuse` where the source does not tell which of them it is.
    """
    found = _computed(scope, node)
    if found is None:
        unknown = isinstance(node, ast.Name) and node.id in scope.names.unknown_results
        if unknown or may_be_no_number(scope, node):
            message = f"it is not known whether '{ast.unparse(node)}' is a tensor"
            raise Refuse(node, codes.NL_COMPUTE, message, "write the instruction that fits")
    return render(scope, node) if found is None else found


def _computed(scope: Scope, node: ast.expr) -> Operand | None:
    if is_computation(scope, node):
        return temporary(scope, node)
    return chosen_tile(scope, node) if isinstance(node, ast.IfExp) else operand(scope, node)


def temporary(scope: Scope, node: ast.expr) -> Operand:
    """The tile of a nested computation, under a name."""
    with masked(scope, node):
        stays = kept(scope, node)
        return temporary_of(scope, node, lower(scope, node)) if stays is None else _named(scope, node, stays)


def _named(scope: Scope, node: ast.expr, stays: Operand) -> Operand:
    """The tile of a nested call that stays, under a name."""
    first: list[tuple[str, Operand | str]] = [("src", of_name(scope, stays.reads, stays.value))] if stays.reads else []
    name = scope.fresh(result_name(scope, Instruction("", first, stays.dims, stays.dtype), node))
    scope.names.env[name] = tile = bind_kept(scope, node, stays, name)
    return of_name(scope, name, tile)


def temporary_of(scope: Scope, node: ast.expr, instruction: Instruction) -> Operand:
    """The tile of a nested computation that was lowered, under a name."""
    name = scope.fresh(result_name(scope, instruction, node))
    scope.names.env[name] = tile = bind_instruction(scope, node, instruction, name)
    return of_name(scope, name, tile)


def lower(scope: Scope, node: ast.expr) -> Instruction:
    """The instruction that computes ``node``."""
    if isinstance(node, ast.Call):
        name = scope.qualified(node.func)
        if name in HANDLERS:
            code, handler = HANDLERS[name]
            scope.apply(code, node)
            call = bound_call(scope, node, name)
            return _perhaps_converted(call, handler(call))
        computing = method_of(scope, node)
        if computing is not None:
            method, base = computing
            return method.lower(scope, node, base)
    if isinstance(node, ast.BinOp | ast.UnaryOp | ast.Compare) and is_computation(scope, node):
        operation: Instruction = scope.evaluator.lower_operator(scope, node)
        return operation
    view = operand(scope, node)
    if view is None:
        raise Refuse(node, DESTINATION, "an expression that is not known to be a tensor", "assign a tile")
    return copy_of(view)


def _perhaps_converted(call: Call, instruction: Instruction) -> Instruction:
    """The instruction with the type that the call gives where that is not ``None``."""
    name = call.optional_dtype()
    if name and instruction.function == "nc_transpose":  # it keeps the type, a copy converts
        copied = copy_of(materialized(call.scope, call.node, instruction))
        instruction = replace(copied, space=instruction.space)
    return replace(instruction, optional=name)


def _of_type(instruction: Instruction, otherwise: str | None) -> Instruction:
    """The instruction whose type is that of its call, or ``otherwise`` where that is ``None``."""
    if not instruction.optional or otherwise is None:
        return instruction
    dtype = type_or(instruction.optional, otherwise)
    return replace(instruction, dtype=dtype, explicit=True, optional="")


def kept(scope: Scope, node: ast.expr) -> Operand | None:
    """A call that stays: its text, and the tile that it gives. ``None`` for a computation that becomes instructions."""
    call = _as_call(scope, node)
    is_placed = scope.memory.direct or scope.module.options.allocation != "address"  # the tile gets an address
    if call is None or is_placed or not has_again(scope, call.name) or scope.masks.clamps or scope.masks.stairs:
        return None
    found = scope.attempt(_kept, scope, node, call)
    return None if isinstance(found, Refuse) else found


def _kept(scope: Scope, node: ast.expr, call: Call) -> Operand:
    """Raises :class:`Refuse` for a call that means something else now, or that nothing tells the meaning of."""
    found = KEEPERS[call.name](bound_call(scope, call.node, call.name))
    if found is None:
        raise call.refuse(codes.LANGUAGE, f"{call.name} does not stay", "write the instruction")
    scope.draft.add(scope.module.plan.staying, node)
    return found


_OPERATORS: dict[type[ast.operator], str] = {ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply"}


def _as_call(scope: Scope, node: ast.expr) -> Call | None:
    """A call of a function that may stay; ``a + b`` of tiles is ``nl.add(a, b)``, for tiles have no operators."""
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        function = f"nl.{_OPERATORS[type(node.op)]}"
        func = ast.Attribute(ast.Name(scope.nl, ast.Load()), function, ast.Load())
        return Call(scope, ast.copy_location(ast.Call(func, [node.left, node.right], []), node), function)
    name = scope.qualified(node.func) if isinstance(node, ast.Call) else None
    return Call(scope, node, name) if isinstance(node, ast.Call) and name in KEEPERS else None


def copy_of(view: Operand) -> Instruction:
    function = "dma_copy" if view.space == "hbm" else "tensor_copy"
    return Instruction(function, [("src", view)], view.dims, view.dtype, like=view.like)


def bind(scope: Scope, node: ast.expr, name: str) -> Tile:
    """``name = <computation>``: declare the tile that Beta 1 returned, and compute into it."""
    with masked(scope, node):
        stays = kept(scope, node)
        return bind_kept(scope, node, stays, name) if stays else bind_instruction(scope, node, lower(scope, node), name)


def bind_kept(scope: Scope, node: ast.expr, stays: Operand, name: str) -> Tile:
    """``name = <call that stays>``: the function itself makes the tile."""
    tile = stays.value
    assert isinstance(tile, Tile)
    text = stays.text(())
    scope.apply(DESTINATION, node)
    scope.module.plan_tensor(Planned(node, name if name in scope.module.symbols.names else "", name, text))
    scope.output.lines.append(New(f"{name} = {text}"))
    declaration = Declaration(name, node, scope.loop_statements, False)
    return replace(tile, dtype=tile.dtype or f"{name}.dtype", declaration=declaration)


def bind_instruction(scope: Scope, node: ast.expr, instruction: Instruction, name: str) -> Tile:
    """Declare the tile ``name`` that ``instruction`` computes, and compute into it."""
    if instruction.dims is None and instruction.ranked is not None:
        ranked = instruction.ranked()
        instruction = replace(ranked, optional=instruction.optional, conditions=instruction.conditions)
    instruction = _of_type(instruction, instruction.dtype)
    scope.assert_all(instruction.conditions)
    own = overwritten(scope, instruction, name)
    if own is not None:
        place(scope, node, instruction, of_name(scope, name, own))
        return own
    final, name = name, _free_name(scope, instruction, name, node)
    if instruction.dims is None and not instruction.like:
        raise Refuse(node, DESTINATION, "the shape of the result is not known", "declare the tile and assign to it")
    if instruction.dtype is None:
        raise Refuse(node, DESTINATION, "the data type of the result is not known", "declare the tile, or pass dtype=")
    for _, value in instruction.arguments:
        if isinstance(value, Operand) and (value.dims == () or value.prefix):
            assert_rank(scope, value)  # more dimensions would make another tile
    assert_ranks(scope, node, instruction, fresh=True)
    column = instruction.dims is None and (instruction.perhaps_column or _reads_column(instruction))
    tile = Tile(instruction.space, instruction.dims, instruction.dtype, (), None, perhaps_column=column)
    shape = shape_text(scope, instruction.dims, instruction.like)
    buffer = f"{scope.nl}.{instruction.space}"
    call = f"{scope.nl}.ndarray({shape}, dtype={instruction.dtype}, buffer={buffer})"
    scope.module.plan_tensor(Planned(node, final if final in scope.module.symbols.names else "", name, call))
    scope.output.lines.append(New(f"{name} = {call}"))
    declaration = Declaration(name, node, scope.loop_statements, False)
    tile = replace(tile, declaration=declaration)
    target = of_name(scope, name, tile)
    if instruction.function == "nc_matmul":
        bound_anew(scope, declaration)
    if instruction.first is not None:
        place(scope, node, instruction.first, target)
    if instruction.part is not None:
        _place_part(scope, node, instruction, target, instruction.part)
    else:
        place(scope, node, instruction, target, fresh=True)
    if name != final:
        scope.output.lines.append(New(f"{final} = {name}"))
    return replace(tile, dtype=f"{final}.dtype") if {"(", " "} & {*instruction.dtype} else tile


def _place_part(scope: Scope, node: ast.expr, instruction: Instruction, target: Operand, part: Part) -> None:
    """Emit an instruction into a part of ``target``."""
    saved = scope.masks.clamps, scope.output.guards
    scope.masks.clamps = {**scope.masks.clamps, **part.clamps}
    scope.guard(part.guards)
    place(scope, node, instruction, target)
    scope.masks.clamps, scope.output.guards = saved


def _reads_column(instruction: Instruction) -> bool:
    """Does an instruction read a tile that may be a column?"""
    operands = (value.value for _, value in instruction.arguments if isinstance(value, Operand))
    return any(isinstance(tile, Tile) and tile.perhaps_column for tile in operands)


def _free_name(scope: Scope, instruction: Instruction, name: str, node: ast.expr) -> str:
    """A name for the result: another one where the instruction still reads what ``name`` was."""
    given = [*instruction.arguments, *(instruction.first.arguments if instruction.first is not None else ())]
    parts = [value.text(()) if isinstance(value, Operand) else value for _, value in given]
    parts += [*(instruction.dims or ()), instruction.like, instruction.dtype or ""]
    read = any(name in algebra.names(part) for part in parts if part)
    return scope.fresh(name_of_more(scope, name, instruction, node)) if read else name


def write(
    scope: Scope, node: ast.expr, target: Operand, *, accumulate: bool = False, handed_back: bool = False
) -> None:
    """``target = <computation>``: the instruction writes straight into ``target``, a function's result is copied."""
    with masked(scope, node):
        instruction = as_large_as(scope, _of_type(lower(scope, node), target.dtype), target)
        if handed_back:
            assert_handed_back(scope, node, instruction, target)
        if instruction.optional:
            raise Refuse(node, DESTINATION, "the data type of the destination is not known", "pass a type, or none")
        if instruction.first is not None or (instruction.support and not instruction.cut):
            instruction = copy_of(materialized(scope, node, instruction))
        if accumulate and instruction.function != "nc_matmul":
            raise Refuse(
                node,
                codes.PSUM_ACCUMULATION,
                "+= of something that is not a matmul into PSUM",
                "use nisa.tensor_tensor",
            )
        rounded_twice = (
            instruction.explicit and not scope.same_dtype(instruction.dtype, target.dtype) and target.space != "hbm"
        )
        if rounded_twice and "oob_mode" in dict(instruction.arguments):
            assert_one_conversion(scope, node, instruction, target, "a load that skips rows")
            rounded_twice = False
        if rounded_twice and scope.memory.direct:
            assert_one_conversion(scope, node, instruction, target, "a result in a tile with an address")
            rounded_twice = False
        if may_convert_in_sbuf(scope, instruction, target):
            assert_one_conversion(scope, node, instruction, target, "a transpose in SBUF")
            rounded_twice = False
        if rounded_twice or converts_in_psum(scope, instruction, target):
            # Beta 1 rounds to the call's dtype first; outside direct allocation that happens in a tile of its own
            instruction = copy_of(materialized(scope, node, instruction))
        elif may_convert_in_psum(scope, instruction, target):
            instruction = replace(instruction, function=transposed_function(scope), support=True)
        assert_ranks(scope, node, instruction, fresh=False)
        place(scope, node, instruction, target, accumulate=accumulate)


def materialized(scope: Scope, node: ast.expr, instruction: Instruction, name: str = "") -> Operand:
    """The result of an instruction in a tile of its own, which Beta 1 had without a name (``name`` is one for it)."""
    if scope.memory.direct:
        what = "an intermediate tile in a kernel that allocates its tiles itself"
        raise Refuse(node, DESTINATION, what, "declare it, with an address")
    name = scope.fresh(name or result_name(scope, instruction))
    scope.names.env[name] = tile = bind_instruction(scope, node, instruction, name)
    return of_name(scope, name, tile)


def in_sbuf(scope: Scope, node: ast.expr, view: Operand) -> Operand:
    """An operand that the engine cannot read from PSUM, copied to SBUF first (all of it, whatever a mask says)."""
    return whole(scope, node, copy_of(view)) if view.perhaps_psum else view


def whole(scope: Scope, node: ast.expr, instruction: Instruction) -> Operand:
    """The result of an instruction in a tile of its own, all of it: a mask is on what reads it."""
    clamps, stairs = scope.masks.clamps, scope.masks.stairs
    scope.masks.clamps, scope.masks.stairs = {}, None
    result = materialized(scope, node, instruction)
    scope.masks.clamps, scope.masks.stairs = clamps, stairs
    return result


def _check_places(
    scope: Scope, node: ast.expr, instruction: Instruction, target: Operand, clamps: list[Clamp], inside: list[Clamp]
) -> None:
    """Raise :class:`Refuse` where hardware does not reach an operand; ``inside`` are the masks of what is read."""
    check_skipped_rows(scope, node, instruction, target)
    check_starts(node, instruction, target, clamps)
    check_partitions(scope, node, instruction, target, clamps, inside)
    check_cut(scope, node, target, clamps)
    for _, value in instruction.arguments:
        if isinstance(value, Operand):
            check_cut(scope, node, value, inside)


def place(
    scope: Scope,
    node: ast.expr,
    instruction: Instruction,
    target: Operand,
    *,
    accumulate: bool = False,
    fresh: bool = False,
) -> None:
    """Emit an instruction into ``target``; ``fresh`` where nothing has been written to it."""
    if not accumulate:
        instruction = _repeated(scope, node, instruction, target)
    if scope.masks.stairs is not None and instruction.function == "dma_copy":
        copy_rows(scope, node, instruction, target, scope.masks.stairs)
        return
    if scope.masks.stairs is not None:
        guard_rows(scope, node, instruction, scope.masks.stairs, fresh)
    clamps = list(scope.masks.clamps.values())
    if instruction.space == "psum" and target.space == "sbuf" and not accumulate:
        instruction = copy_of(materialized(scope, node, instruction))
    inside = [] if instruction.precut else clamps
    if clamps and not instruction.cut:
        raise Refuse(node, MASKS, f"a mask on index vectors of {instruction.function}", "clamp the operands by hand")
    if target.space == "hbm" and instruction.function != "dma_copy":
        raise Refuse(
            node, DESTINATION, f"{instruction.function} into a tensor in HBM", "compute into a tile, then copy"
        )
    _check_places(scope, node, instruction, target, clamps, inside)
    if instruction.through:
        instruction = _copied_first(scope, node, instruction, target)
    check_group(scope, node, instruction.function, target, accumulate)
    written = instruction.shaped(scope, node, target) if instruction.shaped is not None else target
    texts = [(name, v.text(inside) if isinstance(v, Operand) else v) for name, v in instruction.arguments]
    scope.apply(DESTINATION, node)
    _emit(scope, node, instruction, [("dst", written.text(clamps)), *texts])


def _emit(scope: Scope, node: ast.expr, instruction: Instruction, given: list[tuple[str, str]]) -> None:
    """Write an instruction with these arguments, or the function of ``nl`` that stays in its place."""
    if instruction.stays is not None and len(given) == 2:
        scope.draft.add(scope.module.plan.staying, node)
        scope.emit(instruction.stays(given[0][1], given[1][1]))
        return
    parts = [f"{name}={text}" for name, text in given]
    function = instruction.function if instruction.support else f"{scope.nisa}.{instruction.function}"
    scope.emit(f"{function}({', '.join(parts)})")


def _repeated(scope: Scope, node: ast.expr, instruction: Instruction, target: Operand) -> Instruction:
    """A result in a larger place: Beta 1 repeats it, Beta 2 reads it with a step of 0."""
    copied = dict(instruction.arguments).get("src") if instruction.function in ("tensor_copy", "dma_copy") else None
    dims = copied.dims if isinstance(copied, Operand) else instruction.dims
    if dims is None or target.dims is None or len(dims) != len(target.dims):
        return instruction
    sizes = [(scope.constant(own), scope.constant(n)) for own, n in zip(dims, target.dims, strict=True)]
    if not (isinstance(copied, Operand) and copied.space == "hbm"):
        _check_rows(node, *sizes.pop(0))
    wide = [n for own, n in sizes if own == 1]
    if all(n == 1 for n in wide) or (scope.memory.direct and None in wide and not isinstance(copied, Operand)):
        return instruction
    if not isinstance(copied, Operand):
        dtype = instruction.dtype if instruction.space == "psum" else target.dtype
        copied = materialized(scope, node, replace(instruction, dtype=dtype))
        instruction = copy_of(copied)
    source = spread(scope, node, copied, target.dims)
    given = [(name, source if name == "src" else value) for name, value in instruction.arguments]
    return replace(instruction, arguments=given)


def _check_rows(node: ast.expr, own: int | None, rows: int | None) -> None:
    """A result of one partition is not put on several."""
    if own == 1 and rows not in (1, None):
        what = "a result of one partition in a place of several"
        help = "broadcast it with .broadcast_to(...); where a subscript leaves out dimensions, write them"
        raise Refuse(node, DESTINATION, what, help)


def _copied_first(scope: Scope, node: ast.expr, instruction: Instruction, target: Operand) -> Instruction:
    """Copy the operand ``through`` into the destination, and read it from there."""
    given = dict(instruction.arguments)
    source = given[instruction.through]
    assert isinstance(source, Operand)
    place(scope, node, copy_of(source), target)
    given[instruction.through] = target
    return replace(instruction, arguments=list(given.items()), through="")
