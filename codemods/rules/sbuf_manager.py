"""NKI014 sbuf-manager: with ``--allocation sbuf-manager``, pinned SBUF tensors come from an ``SbufManager``.

Why: ``nkilib``'s ``SbufManager`` gives out addresses from a stack with scopes and from a heap, checks that they fit,
and logs them; kernels of Beta 2 are written with it. The old layout stays as it was: a tensor goes through the manager
only where the address that it gets there is provably the old one, as an expression over the names of the source. A
counter that is advanced becomes a stack, a counter that is put back a scope, tiles that an iteration declares a scope
in the loop, tiles that iterations take turns on (``num_free_tiles``) the sections of a scope, tensors that end where
SBUF (or a region) ends the heap. Bytes that no tensor has become padding, blocks that take turns on tiles
one tensor of those tiles or a list of them (and a second list of the blocks where one is passed on whole), tensors that
overlap scopes one after the other. Counters that nothing reads any more go.

The kernel makes the manager, from the lowest address to the end of SBUF or of the heap. A kernel whose tensors do not
fit between them stops with the manager's message.

Safe. A tensor that is not in the stack's order keeps ``address=``, and a finding says why: both may stand in one
kernel. So do tensors that helpers declare.

Source: SbufManager API reference; nki-library 0759719, ``core/utils/allocator.py``.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from ..analysis.scope import Scope
from ..expr import algebra
from ..expr.declarations import Pinned
from ..expr.emission import New, Refuse
from ..expr.moves import Planned
from ..expr.tile_lists import list_of_tiles, nth, statements
from ..expr.values import Allocator
from ..lower.declare import bound, declaration_lines
from ..plan.allocator_classes import class_of, global_of
from ..plan.handed_out import owner_of, with_addresses
from ..plan.stack import StackPlan, stack_plan
from ..project.launches_apart import called_by_kernel
from ..project.program import Module
from ..project.usage import names_used
from ..render.expressions import is_pure
from ..syntax.format import tuple_text
from ..syntax.node_index import of_kinds, walk
from ..syntax.nodes import bound_by
from .block_dimensions import NotInLoop

CODE = "NKI014"
GOLDENS = ("sbuf_manager_counter", "sbuf_manager_scopes", "sbuf_manager_rings", "sbuf_manager_turns")
_MODULE = "nkilib.core.utils.allocator"
_CLASS = "SbufManager"


def place(scope: Scope) -> None:
    """Let a manager place the pinned tensors of a function that has been rewritten, as far as it can."""
    tensors = scope.memory.pinned
    if not tensors or not scope.module.options.enabled(CODE):
        return
    if not scope.decorated or scope.outer is not None:
        for tensor in tensors:
            _keep(scope, tensor, "it is declared outside of the kernel: pass the manager on by hand")
        return
    tensors, plan = _planned(scope, tensors)
    for tensor, reason in plan.unsuited.items():
        scope.module.plan.blocked[scope.module.position(tensor.plan.node)] = NotInLoop(reason)
    for tensor in tensors:
        if tensor not in plan.way:
            _keep(scope, tensor, plan.reasons[tensor])
        else:
            scope.apply(CODE, tensor.plan.node)
            scope.module.decide(tensor.plan.node, tensor.plan.name, *_WAYS[plan.way[tensor]])
    if plan.way:
        _write(scope, plan)


def _planned(scope: Scope, tensors: list[Pinned]) -> tuple[list[Pinned], StackPlan]:
    """The tensors, those of objects with the addresses that these hand out, and the plan for them.

    An object whose tensors do not all come from the manager keeps them all: each call moves its counter on.
    """
    held = {t: class_of(scope.module, t.plan.buffer.call) for t in tensors if isinstance(t.plan.buffer, Allocator)}
    told = with_addresses(scope, tensors, {t: cls for t, cls in held.items() if owner_of(t) and cls is not None})
    while True:
        all_told = [told.get(tensor, tensor) for tensor in tensors]
        plan = stack_plan(scope, all_told)
        left = {owner_of(tensor) for tensor in all_told if tensor not in plan.way} - {""}
        again = {old: new for old, new in told.items() if owner_of(old) not in left}
        if len(again) == len(told):
            _drop_objects(scope, {owner_of(new) for new in told.values()})
            return all_told, plan
        told = again


def _drop_objects(scope: Scope, names: set[str]) -> None:
    """The objects that hand out nothing any more are not made."""
    made = {scope.source.segment(global_of(scope.module, name)) for name in names}
    for written in scope.module.plan.edits.before.values():
        written[:] = [new for new in written if new.text not in made]


_WAYS = {
    "stack": ("SbufManager", "the stack stands at its address"),
    "section": ("SbufManager", "iterations take turns on its tiles, as on the sections of a scope"),
    "heap": ("SbufManager", "it ends where the heap ends"),
}
"""Way of a tensor -> what was chosen, and why."""


def _keep(scope: Scope, tensor: Pinned, reason: str) -> None:
    message = f"'{tensor.plan.name}' keeps its address: {reason}"
    help = "open scopes of the manager by hand, or use --allocation address"
    scope.module.report(Refuse(tensor.plan.node, CODE, message, help), informs=True)


# --- writing ---------------------------------------------------------------------------------------------------------


def _write(scope: Scope, plan: StackPlan) -> None:
    edits = scope.module.plan.edits
    manager = scope.fresh("sbm")
    allocations: dict[ast.For | None, list[New]] = defaultdict(list)
    for tensor, way in plan.way.items():
        lines = _lines(scope, plan, tensor, f"{manager}.alloc_{'heap' if way == 'heap' else 'stack'}")
        allocations[tensor.loop] += lines
        _replace(scope, tensor, lines)
    for loop in plan.loops:
        written = edits.prologue[loop]
        first = next(i for i, new in enumerate(written) if new in allocations[loop])
        written.insert(first, New(f"{manager}.open_scope()"))
    for statement, around in plan.around.items():
        text = [*[f"{manager}.close_scope()"] * around.closes, *[f"{manager}.open_scope()"] * around.opens]
        if statement is plan.first:
            text[around.closes : around.closes] = [_made(scope, plan, manager), f"{manager}.open_scope()"]
        behind = [New(f"{manager}.{method}()") for method in around.after]
        edits.before.setdefault(statement, []).extend(New(line) for line in text)
        if isinstance(statement, ast.Return):
            edits.before[statement].extend(behind)
        else:
            edits.after.setdefault(statement, [])[:0] = behind
    for loop, sections in plan.sections.items():
        edits.before.setdefault(loop, []).append(New(f"{manager}.open_scope(interleave_degree={sections})"))
        edits.after.setdefault(loop.body[-1], []).append(New(f"{manager}.increment_section()"))
        edits.after.setdefault(loop, [])[:0] = [New(f"{manager}.close_scope()")]
    _drop_counters(scope, plan)


def _made(scope: Scope, plan: StackPlan, manager: str) -> str:
    scope.module.program.told(_import_class, scope.module)
    upper = plan.upper or f"{scope.nl}.tile_size.total_available_sbuf_size"
    return f"{manager} = {_CLASS}({plan.lower}, {upper})"


def _import_class(module: Module) -> None:
    module.names.from_imports[_MODULE] = _CLASS


def _lines(scope: Scope, plan: StackPlan, tensor: Pinned, allocate: str) -> list[New]:
    arguments = [tuple_text(tensor.dims), f"dtype={tensor.plan.dtype}"]
    if tensor.plan.label:
        arguments.append(tensor.plan.label.removeprefix(", "))
    elif _has_one_name(scope, tensor):
        arguments.append(f'name="{tensor.plan.name}"')
    if tensor.partition != "0":
        arguments.append(f"base_partition={tensor.partition}")
    if tensor in plan.unaligned:
        arguments.append("align=1")
    call = f"{allocate}({', '.join(arguments)})"
    return [*_padding(scope, plan, tensor, allocate), *_declaration(scope, tensor, call)]


def _padding(scope: Scope, plan: StackPlan, tensor: Pinned, allocate: str) -> list[New]:
    """The bytes before a tensor that no tensor has, as one of them."""
    size = plan.padding.get(tensor)
    if size is None:
        return []
    name = scope.fresh(f"padding_before_{tensor.plan.name}")
    return [New(f"{name} = {allocate}(({scope.nl}.tile_size.pmax, {size}), dtype={scope.nl}.int8)")]


def _declaration(scope: Scope, tensor: Pinned, call: str) -> list[New]:
    if tensor.style in ("fold", "loop"):
        return [New(bound(scope, tensor.plan, call))]
    if tensor.ring:
        return [New(text) for text in statements(_ring(scope, tensor, call))]
    tiles = () if tensor.tiles == tensor.plan.blocks else tensor.tiles
    return [New(text) for text in statements(declaration_lines(scope, tensor.plan, call, tiles=tiles))]


def _ring(scope: Scope, tensor: Pinned, call: str) -> list[str]:
    """Lines that declare the tiles of a tensor, and then its blocks, which are those tiles in turns.

    However many blocks there are, all the tiles are there: what lies behind them starts where it did. There is no list
    of the blocks where every use takes a tile by its number.
    """
    plan = tensor.plan
    turning = [(i, n) for i, n in zip(plan.index, tensor.tiles, strict=True) if scope.constant(n) != 1]
    if tensor.indexed:
        scope.module.plan.tensors.append(Planned(plan.node, plan.name, plan.name, call))
        index = [scope.fresh(f"{plan.name}_tile") if i.isdigit() else i for i in plan.index]
        return list_of_tiles(plan.name, tensor.tiles, index, [], call)
    tiles = scope.fresh(f"{plan.name}_physical")
    scope.module.plan_tensor(Planned(plan.node, plan.name, tiles, call))
    if not turning:
        declared = [f"{tiles} = {call}"]
    else:
        index = [scope.fresh(f"{plan.name}_tile") if i.isdigit() else i for i, _ in turning]
        declared = list_of_tiles(tiles, [n for _, n in turning], index, [], call)
    block = nth(tiles, [i if i == "0" else algebra.modulo(i, n) for i, n in turning])
    return [*declared, *declaration_lines(scope, plan, block)]


def _has_one_name(scope: Scope, tensor: Pinned) -> bool:
    """Is there one tensor of that name, so that the manager's log can call it so?"""
    alone = tensor.style in ("", "fold") and scope.names.assigned[tensor.plan.name] == 1
    return alone and not tensor.in_loop and not called_by_kernel(scope.module, scope.function)


def _replace(scope: Scope, tensor: Pinned, lines: list[New]) -> None:
    edits = scope.module.plan.edits
    written = edits.prologue[tensor.loop] if tensor.loop is not None else edits.replaced[tensor.plan.statement]
    declared = edits.replaced.get(tensor.plan.statement, [])
    declared[:] = [new for new in declared if tensor.loop is None or not new.text.startswith(f"{tensor.base} = ")]
    at = next(i for i in range(len(written)) if tuple(written[i : i + len(tensor.written)]) == tensor.written)
    written[at : at + len(tensor.written)] = lines


# --- counters that nothing reads any more ----------------------------------------------------------------------------


def _drop_counters(scope: Scope, plan: StackPlan) -> None:
    """Remove the assignments of names that served the addresses which the manager gives out now."""
    dead = _related(scope, {n.id for t in plan.way for n in walk(_base(t)) if isinstance(n, ast.Name)})
    edits = scope.module.plan.edits
    replaced = dict(edits.replaced)
    lines = [(written, list(written)) for planned in (edits.before, edits.prologue) for written in planned.values()]
    while dead:
        edits.replaced = {**replaced, **{s: [] for s in _assignments(scope.function) if bound_by(s) <= dead}}
        for written, before in lines:
            written[:] = [new for new in before if new.keeps not in dead]
        alive = dead & names_used(edits, [scope.function])[0]
        if not alive:
            return
        dead -= alive
    edits.replaced = replaced
    for written, before in lines:
        written[:] = before


def _base(tensor: Pinned) -> ast.expr:
    assert isinstance(tensor.plan.buffer, Allocator)
    call = tensor.plan.buffer.call
    given = [*call.args, *(k.value for k in call.keywords if k.arg != "num_free_tiles")]
    return next((k.value for k in call.keywords if k.arg == "base_addr"), ast.Tuple(given, ast.Load()))


def _related(scope: Scope, names: set[str]) -> set[str]:
    """``names``, and those that their assignments read: counters and what they are set to."""
    found = {name for name in names if scope.names.assigned[name]}
    while True:
        more = {
            n.id
            for s in _assignments(scope.function)
            if bound_by(s) & found
            for n in of_kinds(s.value, ast.Name)
            if scope.names.assigned[n.id] and _only_numbers(scope, n.id)
        }
        if more <= found:
            return {name for name in found if _only_numbers(scope, name)}
        found |= more


def _only_numbers(scope: Scope, name: str) -> bool:
    """Is every binding of a name in the function an assignment of arithmetic on names and numbers?"""
    values = [s.value for s in _assignments(scope.function) if name in bound_by(s)]
    bound = sum(1 + isinstance(s, ast.AugAssign) for s in _assignments(scope.function) if name in bound_by(s))
    plain = ast.BinOp | ast.UnaryOp | ast.operator | ast.unaryop | ast.Name | ast.Constant | ast.Attribute
    return bound == scope.names.assigned[name] and all(
        isinstance(part, plain | ast.expr_context) or (isinstance(part, ast.Call) and is_pure(scope, part))
        for value in values
        for part in walk(value)
    )


def _is_assignment(statement: ast.stmt) -> bool:
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    simple = isinstance(statement, ast.Assign | ast.AugAssign) and len(targets) == 1
    return simple and isinstance(targets[0], ast.Name)


def _assignments(function: ast.FunctionDef) -> Iterator[ast.Assign | ast.AugAssign]:
    for node in walk(function):
        if isinstance(node, ast.Assign | ast.AugAssign) and _is_assignment(node):
            yield node
