"""Creation of on-chip tensors: block dimensions become lists, allocators become addresses."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace

from ..analysis.block_names import block_names
from ..analysis.objects import only_value
from ..analysis.scope import Scope
from ..expr import algebra
from ..expr.declarations import Plan
from ..expr.emission import New, Refuse
from ..expr.moves import Planned
from ..expr.tables import CREATIONS, parameters
from ..expr.tile_lists import list_of_tiles, statements
from ..expr.values import Allocator, Declaration, Hbm, Tile, Value
from ..render.expressions import beta2_name, render, render_stable
from ..render.optional_types import optional_type, type_or
from ..render.shapes import shape_of, shape_owner, shape_text, written_sizes
from ..render.type_names import dtype_text
from ..rules.block_dimensions import Style, advanced_address, style_of
from ..rules.psum_accumulation import written_at_declaration
from ..syntax import codes
from ..syntax.format import tuple_text
from ..syntax.node_index import of_kinds
from ..syntax.nodes import is_name, is_shape
from .addresses import Address, Layout, layout, tuple_sizes
from .pins import pinned as pinned_tensor
from .reductions import UNWRITTEN, start_of_reductions

BLOCKS = codes.BLOCK_DIMENSIONS
CREATION = codes.NL_COMPUTE
ZERO = ("0", "0.0")
"""What ``nl.zeros`` fills a tensor with: the same bits for every type."""
_LIKE = ("nl.empty_like", "nl.zeros_like")
BUFFERS = {"nl.sbuf": "sbuf", "nl.psum": "psum", "nl.hbm": "hbm", "nl.private_hbm": "hbm", "nl.shared_hbm": "hbm"}

AddressRule = Callable[[Scope, Allocator, Layout], Address]
ALLOCATORS: dict[tuple[str, str], AddressRule] = {}
"""(space, kind of allocator) -> how its blocks are addressed."""


def allocates(space: str, kind: str) -> Callable[[AddressRule], AddressRule]:
    def register(rule: AddressRule) -> AddressRule:
        ALLOCATORS[space, kind] = rule
        return rule

    return register


def creation(scope: Scope, node: ast.expr) -> str | None:
    """Canonical name of the creation function that ``node`` calls."""
    if not isinstance(node, ast.Call):
        return None
    name = scope.qualified(node.func)
    return name if name in CREATIONS else None


def is_bound_again(scope: Scope, name: str, node: ast.Call, statement: ast.stmt) -> bool:
    """Is a tile declared that nothing uses before its name is bound to another one, in the same block?"""
    if (
        creation(scope, node) != "nl.ndarray"
        or scope.memory.direct
        or statement not in scope.block
        or len(node.args) > 2
    ):
        return False
    buffer = next((k.value for k in node.keywords if k.arg == "buffer"), None)
    calls = {scope.qualified(call.func) for call in of_kinds(node, ast.Call) if call is not node}
    if buffer_value(scope, buffer) not in ("sbuf", "psum") or not calls <= {"nl.par_dim"}:
        return False
    behind = scope.block[scope.block.index(statement) + 1 :]
    following = next((s for s in behind if _uses(s, name)), None)
    again = isinstance(following, ast.Assign) and [ast.unparse(target) for target in following.targets] == [name]
    return again and following is not None and _uses(following, name) == 1


def _uses(statement: ast.stmt, name: str) -> int:
    return sum(node.id == name for node in of_kinds(statement, ast.Name))


def buffer_value(scope: Scope, node: ast.expr | None) -> str | Allocator | None:
    """``sbuf``, ``psum``, ``hbm``, or the allocator that a ``buffer=`` argument is; ``None`` when it is unknown."""
    if node is None:
        return "sbuf"
    if isinstance(node, ast.Name) and isinstance(scope.names.env.get(node.id), Allocator):
        value = scope.names.env[node.id]
        assert isinstance(value, Allocator)
        return value
    name = scope.qualified(node)
    if name in BUFFERS:
        return BUFFERS[name]
    if isinstance(node, ast.Name) and node.id in scope.sizes.definitions:
        bound = only_value(scope, node)
        defined = bound or algebra.parse(scope.sizes.definitions[node.id])
        chosen_elsewhere = bound is None and isinstance(defined, ast.IfExp)
        return None if chosen_elsewhere else buffer_value(scope, defined)
    if isinstance(node, ast.IfExp):
        return _either(scope, node)
    if not isinstance(node, ast.Call):
        return None
    return allocator_value(scope, node) or scope.evaluator.object_allocator(scope, node)


def allocator_value(scope: Scope, node: ast.Call) -> str | Allocator | None:
    parts = (scope.qualified(node.func) or "").split(".")
    if len(parts) != 3 or parts[0] != "ncc" or parts[1] not in ("sbuf", "psum"):
        return None
    if parts[2] == "auto_alloc":
        return parts[1]
    return Allocator(parts[1], parts[2], node, ast.unparse(node)) if parts[2] in ("mod_alloc", "alloc") else None


def _either(scope: Scope, node: ast.IfExp) -> str | Allocator | None:
    """``nl.psum if automatic else psum.mod_alloc(...)``: an address, or none."""
    body, orelse = buffer_value(scope, node.body), buffer_value(scope, node.orelse)
    if body == orelse and isinstance(body, str):
        return body
    test = render_stable(scope, node.test)
    if isinstance(node.test, ast.UnaryOp) and isinstance(node.test.op, ast.Not):
        otherwise = render_stable(scope, node.test.operand)
    else:
        otherwise = f"not {algebra.paren(test)}"
    for pinned, free, condition in ((body, orelse, test), (orelse, body, otherwise)):
        if isinstance(pinned, Allocator) and free == pinned.space and pinned.kind == "mod_alloc":
            return replace(pinned, condition=condition)
    return None


def arguments(scope: Scope, node: ast.Call, name: str) -> dict[str, ast.expr]:
    known = parameters(name) or ("shape", "dtype")
    given = dict(zip(known, node.args, strict=False))
    given.update({k.arg: k.value for k in node.keywords if k.arg})
    return given


def declare(scope: Scope, name: str, node: ast.Call, statement: ast.stmt) -> Value:
    """``name = nl.ndarray(...)``: emit the Beta 2 declaration, and return what ``name`` is now."""
    planned = _planned(scope, name, node, statement)
    return _declared(scope, planned, _style(scope, planned)) if isinstance(planned, Plan) else planned


def declare_listed(scope: Scope, name: str, node: ast.Call, statement: ast.stmt) -> tuple[str, Tile, str | None]:
    """A tile that a Python list ``name`` is to hold: the call that makes it, or its name where it is filled, too.

    With what it is, and what it is filled with (``None``: nothing).

    Raises :class:`Refuse` for a tensor that is no single tile on the chip, and for one with an address.
    """
    function = creation(scope, node)
    assert function is not None
    if buffer_value(scope, arguments(scope, node, function).get("buffer")) not in ("sbuf", "psum"):
        message = "a list of tensors that are in HBM, or have addresses"
        raise Refuse(node, codes.LANGUAGE, message, "give the tensors names of their own")
    planned = _planned(scope, name, node, statement)
    if not isinstance(planned, Plan) or planned.blocks:
        message = "a list of tensors with block dimensions, or of unknown shape"
        raise Refuse(node, codes.LANGUAGE, message, "give the tensors names of their own")
    call, left = _made(scope, replace(planned, label=""), planned.dims, "")
    text = call
    if left.fill is not None:
        text = scope.fresh(_tile_name(name))
        for line in (f"{text} = {call}", *_filled(scope, left, text)):
            scope.emit(line)
    scope.module.plan_tensor(Planned(node, name, name if text == call else text, call))
    return text, Tile(planned.space, planned.dims, planned.dtype), planned.fill


def _planned(scope: Scope, name: str, node: ast.Call, statement: ast.stmt) -> Plan | Value:
    """What is to be declared on the chip; a tensor in HBM, and one like a tensor of unknown rank, are declared here."""
    function = creation(scope, node)
    assert function is not None
    given = _of_another(scope, node, arguments(scope, node, function), function)
    for required in ("shape", "dtype"):
        if required not in given:
            raise Refuse(node, CREATION, f"{function} without {required}", f"pass {required}=")
    buffer = buffer_value(scope, given.get("buffer"))
    if buffer is None:
        raise Refuse(
            given["buffer"], CREATION, "a buffer that the source does not show", "write the buffer in the call"
        )
    dtype = _dtype_of(scope, given["dtype"])
    optional = optional_type(scope, given["dtype"]) if function in _LIKE else ""
    if optional:
        dtype = type_or(optional, _dtype_of(scope, _of_like(given["a"], "dtype")))
    if buffer == "hbm":
        if function != "nl.ndarray":
            raise Refuse(node, CREATION, f"{function} in HBM", "declare it with nl.ndarray, and copy the values there")
        return _hbm(scope, name, node, given, dtype)
    space = buffer if isinstance(buffer, str) else buffer.space
    fill = CREATIONS[function] if function != "nl.full" else render(scope, given["fill_value"])
    if function in UNWRITTEN:
        fill = start_of_reductions(scope, name, dtype)
    like = function in _LIKE or (function == "nl.ndarray" and bool(_ranks(scope, given["shape"])))
    if like and isinstance(buffer, str) and _has_unknown_rank(scope, given["shape"]):
        return _like(scope, name, node, given["shape"], dtype, space, fill)
    blocks, dims = shape_of(scope, given["shape"])
    if not dims:
        raise Refuse(node, CREATION, "a tile without dimensions", "give it partitions: (1, 1) is one element")
    scope.memory.direct = scope.memory.direct or isinstance(buffer, Allocator)
    label, index = _label(scope, given, blocks), block_names(scope, name, blocks)
    owner = shape_owner(scope, given["shape"]) if not blocks else ""
    return Plan(name, node, statement, blocks, dims, dtype, space, buffer, fill, label, index, owner)


def _dtype_of(scope: Scope, node: ast.expr) -> str:
    value = (
        scope.names.env.get(node.value.id)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        else None
    )
    if isinstance(value, Tile | Hbm) and isinstance(node, ast.Attribute) and node.attr == "dtype" and value.dtype:
        return value.dtype
    return dtype_text(scope, node)


def _of_another(scope: Scope, node: ast.Call, given: dict[str, ast.expr], function: str) -> dict[str, ast.expr]:
    """The arguments with the shape, and the type unless it is given, of the tensor that ``nl.zeros_like`` names."""
    if function not in _LIKE:
        return given
    like = given.get("a")
    if not isinstance(like, ast.Name) or not isinstance(scope.names.env.get(like.id), Tile | Hbm):
        raise Refuse(node, CREATION, f"{function} of what is not the name of a tensor", "write shape and type")
    stated = {k: v for k, v in given.items() if not (isinstance(v, ast.Constant) and v.value is None)}
    return {**{name: _of_like(like, name) for name in ("shape", "dtype")}, **stated}


def _of_like(like: ast.expr, name: str) -> ast.expr:
    return ast.copy_location(ast.Attribute(like, name, ast.Load()), like)


def _style(scope: Scope, plan: Plan) -> Style | None:
    """What the blocks become; ``None`` for a tensor that has none."""
    if not plan.blocks:
        return None
    scope.apply(BLOCKS, scope.function)
    style = style_of(scope, plan)
    scope.module.decide(plan.node, plan.name, style.name, style.reason)
    return style


def _declared(scope: Scope, plan: Plan, style: Style | None) -> Tile:
    loops, pinned = scope.loop_statements, isinstance(plan.buffer, Allocator)
    folded: tuple[str, ...] = ()
    text, already = "", len(scope.output.lines)
    written: Sequence[New] = ()
    kept = ""
    if style is not None:
        loops = (*loops, *style.loops)
    if style is not None and style.name == "fold":
        folded = _fold(scope, plan, style)
    elif style is not None and style.name == "loop":
        kept = _kept_address(scope, plan)
        written = _into_loop(scope, plan, style, kept)
    elif style is not None and style.loop is not None:
        _list_in_loop(scope, plan, style)
    else:
        text = _list(scope, plan)
    if pinned and plan.space == "sbuf" and scope.module.options.allocation == "sbuf-manager":
        loop, name = (style.loop, style.name) if style is not None else (None, "")
        tensor = pinned_tensor(scope, plan, name, loop, tuple(written or scope.output.lines[already:]))
        tensor = replace(tensor, base=kept or tensor.base)
        folded = tensor.tiles if tensor.indexed else folded
        scope.memory.pinned.append(tensor)
    declaration = Declaration(plan.name, plan.node, loops, pinned, text, style.loops if style is not None else ())
    if plan.space == "psum":
        written_at_declaration(scope, declaration, plan.fill)
    name = style.name if style is not None else "list"
    joined = style.joined if style is not None else ()
    return Tile(plan.space, plan.dims, plan.dtype, plan.blocks, declaration, style=name, folded=folded, joined=joined)


def _has_unknown_rank(scope: Scope, shape: ast.expr) -> bool:
    """Is a shape that of a tensor which is not known dimension by dimension?"""
    if not (is_shape(shape) and isinstance(shape.value, ast.Name)):
        return False
    value = scope.names.env.get(shape.value.id)
    return isinstance(value, Tile | Hbm) and value.dims is None and not (isinstance(value, Tile) and value.blocks)


def _ranks(scope: Scope, shape: ast.expr) -> tuple[int, ...]:
    """The ranks that branches gave the tile whose shape this is."""
    owner = shape.value if is_shape(shape) else None
    value = scope.names.env.get(owner.id) if isinstance(owner, ast.Name) else None
    return value.ranks if isinstance(value, Tile) else ()


def _like(scope: Scope, name: str, node: ast.Call, shape: ast.expr, dtype: str, space: str, fill: str | None) -> Tile:
    """A tile with the shape of another tensor, whatever that is."""
    call = f"{scope.nl}.ndarray({ast.unparse(shape)}, dtype={dtype}, buffer={scope.nl}.{space})"
    made = call.replace(f"{scope.nl}.ndarray(", f"{scope.nl}.zeros(", 1) if fill in ZERO else call
    scope.module.plan_tensor(Planned(node, name, name, made))
    scope.emit(f"{name} = {made}")
    if fill is not None and made == call:
        scope.emit(f"{scope.nisa}.memset(dst={name}, value={fill})")
    declaration = Declaration(name, node, scope.loop_statements, False, call)
    if space == "psum":
        written_at_declaration(scope, declaration, fill)
    return Tile(space, None, dtype, (), declaration, ranks=_ranks(scope, shape))


def _label(scope: Scope, given: dict[str, ast.expr], blocks: tuple[str, ...]) -> str:
    """Beta 2 wants unique tensor names: one that something repeats is dropped."""
    if "name" not in given or blocks or _is_repeated(scope, given["name"]):
        return ""
    return f", name={render(scope, given['name'])}"


def _is_repeated(scope: Scope, name: ast.expr) -> bool:
    """Does a loop, another call of the function or a declaration before this one use the name of a tensor, too?"""
    named = [k.value for call in of_kinds(scope.function, ast.Call) for k in call.keywords if k.arg == "name"]
    alike = [n for n in named if ast.dump(n) == ast.dump(name)]
    first = min(alike, key=lambda n: (n.lineno, n.col_offset), default=name)
    return bool(scope.place.loops) or first is not name or _is_called_again(scope)


def _is_called_again(scope: Scope) -> bool:
    """Do the functions of the module call this one, which nobody launches, several times, or in a loop?"""
    if scope.decorated and scope.outer is None:
        return False
    tree, function = scope.source.tree, scope.function.name
    calls = [call for call in of_kinds(tree, ast.Call) if is_name(call.func, function)]
    looped = (call for loop in of_kinds(tree, ast.For) for call in of_kinds(loop, ast.Call))
    return len(calls) > 1 or any(call in calls for call in looped)


def _hbm(scope: Scope, name: str, node: ast.Call, given: dict[str, ast.expr], dtype: str) -> Hbm:
    shape = given["shape"]
    dims = tuple(render(scope, s) for s in shape.elts) if isinstance(shape, ast.Tuple | ast.List) else None
    sizes = written_sizes(scope, shape) if dims is None else None
    dims = sizes.all if sizes is not None else dims
    if dims == ():
        help = "declare it as (1,), and take the element where the kernel is launched"
        raise Refuse(node, CREATION, "a tensor in HBM without dimensions", help)
    arguments = [render(scope, argument) for argument in node.args]
    kept = [k for k in node.keywords if k.arg != "name" or not _is_repeated(scope, k.value)]
    arguments += [f"{k.arg}={render(scope, k.value)}" for k in kept]
    scope.emit(f"{name} = {beta2_name(scope, node.func)}({', '.join(arguments)})")
    return Hbm(dims, dtype)


def _place(scope: Scope, plan: Plan, index: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
    """Statements that come first, and the ``address=`` argument of one block (empty without an allocator)."""
    if not isinstance(plan.buffer, Allocator):
        return (), ""
    place = layout(scope, plan.blocks, index, plan.dims, plan.dtype)
    computed = ALLOCATORS[plan.buffer.space, plan.buffer.kind](scope, plan.buffer, place)
    otherwise = f" if {plan.buffer.condition} else None" if plan.buffer.condition else ""
    return computed.setup, f", address={computed.text}{otherwise}"


def _ndarray(scope: Scope, plan: Plan, dims: tuple[str, ...], address: str, function: str = "ndarray") -> str:
    """The call that declares the tensor, or one tile of it."""
    buffer = f"{scope.nl}.{plan.space}"
    shape = shape_text(scope, dims, plan.like) if plan.like else tuple_text(dims)
    return f"{scope.nl}.{function}({shape}, dtype={plan.dtype}, buffer={buffer}{plan.label}{address})"


def _made(scope: Scope, plan: Plan, dims: tuple[str, ...], address: str) -> tuple[str, Plan]:
    """The call that makes the tensor, or one tile of it, and the plan with what is left to fill: ``nl.zeros`` fills."""
    if plan.fill in ZERO and not address:
        return _ndarray(scope, plan, dims, "", "zeros"), replace(plan, fill=None)
    return _ndarray(scope, plan, dims, address), plan


def bound(scope: Scope, plan: Plan, call: str) -> str:
    """``name = call``, noted as the declaration of the tensor."""
    scope.module.plan_tensor(Planned(plan.node, plan.name, plan.name, call))
    return f"{plan.name} = {call}"


def _filled(scope: Scope, plan: Plan, name: str) -> list[str]:
    return [f"{scope.nisa}.memset(dst={name}, value={plan.fill})"] if plan.fill is not None else []


def _list(scope: Scope, plan: Plan) -> str:
    """Declare the tile, or the list of tiles; return the call that makes one tile, where one call does."""
    setup, address = _place(scope, plan, plan.index)
    tile = _ndarray(scope, plan, plan.dims, address)
    if plan.blocks and plan.name in {n for text in (tile, *plan.blocks) for n in algebra.names(text)}:
        message = f"'{plan.name}' is made with what had its name before, and becomes a list"
        raise Refuse(plan.node, BLOCKS, message, "give it another name")
    made, made_plan = _made(scope, plan, plan.dims, address)
    for statement in statements(declaration_lines(scope, made_plan, made, setup=setup)):
        scope.output.lines.append(New(statement))
    return "" if setup or plan.blocks or plan.label else tile


def declaration_lines(
    scope: Scope, plan: Plan, tile: str, setup: tuple[str, ...] = (), tiles: tuple[str, ...] = ()
) -> list[str]:
    """Lines that declare a tile, or a list of tiles, with the call ``tile`` for each (of ``tiles``, if not of all)."""
    if not plan.blocks:
        return [*setup, bound(scope, plan, tile), *_filled(scope, plan, plan.name)]
    element, lines = tile, list(setup)
    if plan.fill is not None:
        element = scope.fresh(_tile_name(plan.name))
        lines += [f"{element} = {tile}", *_filled(scope, plan, element)]
    scope.module.plan_tensor(Planned(plan.node, plan.name, element if element != tile else plan.name, tile))
    return list_of_tiles(plan.name, plan.blocks, plan.index, lines, element, tiles)


def _tile_name(name: str) -> str:
    """What one tile of a list is called."""
    return name.removesuffix("s") if name.endswith("tiles") else f"{name}_tile"


def _fold(scope: Scope, plan: Plan, style: Style) -> tuple[str, ...]:
    """Declare one tensor with the blocks behind the partitions; return how many blocks exist in each dimension."""
    exist = tuple("1" if joined else size for size, joined in zip(plan.blocks, _joined(plan, style), strict=True))
    if isinstance(plan.buffer, Allocator):
        sizes = next((k.value for k in plan.buffer.call.keywords if k.arg == "num_free_tiles"), None)
        exist = tuple_sizes(scope, sizes, BLOCKS) or ("1",) * len(plan.blocks)
    _, address = _place(scope, plan, ("0",) * len(plan.blocks))
    several = [size for size in exist if scope.constant(size) != 1]
    call, plan = _made(scope, plan, (plan.dims[0], *several, *plan.dims[1:]), address)
    lines = [bound(scope, plan, call), *_filled(scope, plan, plan.name)]
    if style.loop is not None:
        _put_into_loop(scope, plan, style, lines)
        return exist
    for line in lines:
        scope.emit(line)
    return exist


def _joined(plan: Plan, style: Style) -> tuple[bool, ...]:
    """Which block dimensions the loops go over that declare a tensor."""
    return style.joined or (False,) * len(plan.blocks)


def _list_in_loop(scope: Scope, plan: Plan, style: Style) -> None:
    """Declare the list of the tiles of one iteration at the top of its loop."""
    kept = [d for d, joined in enumerate(_joined(plan, style)) if not joined]
    names = block_names(scope, plan.name, plan.blocks, style.loops)
    own = replace(plan, blocks=tuple(plan.blocks[d] for d in kept), index=tuple(names[d] for d in kept))
    made, made_plan = _made(scope, own, own.dims, "")
    scope.module.plan_tensor(Planned(plan.node, plan.name, plan.name, made))  # the list, whatever fills its tiles
    _put_into_loop(scope, plan, style, statements(declaration_lines(scope, made_plan, made)))


def _kept_address(scope: Scope, plan: Plan) -> str:
    """A name for what the counter in the address stands at, where the tensor was declared; empty without one."""
    base = advanced_address(scope, plan)
    if base is None:
        return ""
    name = scope.fresh(f"{plan.name}_address")
    scope.emit(f"{name} = {render_stable(scope, base)}")
    return name


def _into_loop(scope: Scope, plan: Plan, style: Style, kept: str) -> list[New]:
    """Declare the tensor at the top of the loop that its blocks belong to, at an address that was kept, if any.

    The lines are the result.
    """
    if kept and isinstance(plan.buffer, Allocator):
        plan = replace(plan, buffer=replace(plan.buffer, kept=kept))
    setup, address = _place(scope, plan, style.index)
    call, plan = _made(scope, plan, plan.dims, address)
    return _put_into_loop(scope, plan, style, [*setup, bound(scope, plan, call), *_filled(scope, plan, plan.name)])


def _put_into_loop(scope: Scope, plan: Plan, style: Style, texts: Sequence[str]) -> list[New]:
    """Write lines that declare a tensor at the top of the innermost loop that its blocks belong to."""
    lines = [New(texts[0], moved=plan.statement), *map(New, texts[1:])]
    prologue, loop = scope.module.plan.edits.prologue, style.loops[-1]
    scope.draft.put(prologue, loop, [*prologue.get(loop, []), *lines])
    return lines
