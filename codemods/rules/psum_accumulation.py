"""NKI023 psum-accumulation: ``psum[...] += matmul`` becomes matmuls into one tile, ``psum[...] = matmul`` a fresh tile.

Why: Beta 1 says whether a matmul overwrites or accumulates. Beta 2 decides by itself: the first matmul into a freshly
declared tile overwrites, later ones accumulate. Where Beta 1 overwrote a tile again, the output declares it again
right before the matmul, which starts a new accumulation group at the same address.

A function that writes a matmul into a tile that it got is like a matmul where it is called: what each call passes must
be fresh if the function overwrites it, and the caller declares it again if it is not. Which blocks of a tensor a nested
function overwrites, the arguments of its calls say; where only a trace can tell two apart, the output asserts it.

Zeros that Beta 1 wrote into a tile to have something to add to go where the first matmul overwrites all of the tile.
If that stands in a loop, the output asserts that the loop runs, where that is not known.

Passes of a loop are compared, too: what another instruction writes must not come before the first matmul of a later
pass, and parts that matmuls overwrite must be apart in all passes. Steps that cannot be compared are asserted.

Safe where the source shows that every group starts with a fresh tile. Left alone: blocks of a list that are
overwritten again, and matmuls that accumulate onto what another instruction wrote. A product that is added to a tile in
SBUF has a tile of its own, and is added as any other.

Source: NKI 0.3 update guide on ``accumulate=None`` ("matches NKI 0.2.0 behavior").
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from ..analysis.psum_writes import (
    NEVER,
    blocks_of,
    disjoint,
    exclusive,
    extremes,
    is_index,
    is_replaced,
    is_whole,
    leading,
    part_of,
    ranges_around,
    recurrence,
    repeating,
    same_blocks,
)
from ..expr import algebra
from ..expr.emission import LOOPS_THAT_RUN, Refuse
from ..expr.frames import FirstMatmul, Groups, Part, Written
from ..expr.operands import Operand
from ..expr.values import EITHER, Declaration, Tile, Value
from ..render.patterns import of_name
from ..syntax import codes
from ..syntax.names import dotted
from ..syntax.node_index import children, of_kinds, walk
from ..syntax.nodes import bound_by, by_parameter, with_names

if TYPE_CHECKING:
    from ..analysis.scope import Scope
    from ..project.program import Module

CODE = codes.PSUM_ACCUMULATION
GOLDENS = ("psum_accumulate", "psum_overwrite", "psum_helper")


def of_another(name: str, value: Value) -> Value:
    """A tensor that a function does not declare: what it writes to PSUM is told to its callers under ``name``."""
    if not isinstance(value, Tile) or value.space not in ("psum", EITHER):
        return value
    origin = value.origin
    if isinstance(origin, Operand):
        origin = replace(origin, value=of_another(name, origin.value))  # type: ignore[arg-type]  # a tile stays one
    return replace(value, declaration=Declaration(name, _ELSEWHERE, (), False), origin=origin)


def of_enclosing(name: str, value: Value) -> Value:
    """What a nested function sees of its enclosing function's tensors."""
    declared = value.declaration if isinstance(value, Tile) else None
    return of_another(declared.name if declared is not None else name, value)


_ELSEWHERE = ast.Pass()


def groups_of_others(scope: Scope) -> Groups:
    """What a function that was walked writes into PSUM tiles of others, as its callers see it."""
    others = {d.name: writes for d, writes in scope.memory.psum_writes.items() if d.node is _ELSEWHERE}
    return {name: tuple(dict.fromkeys(_told(scope, w) for w in writes)) for name, writes in others.items()}


def _told(scope: Scope, written: Written) -> Written:
    """What callers must know of a write: whether each call makes it, and to which blocks."""
    behind = scope.function.body[:-1]
    early = any(isinstance(node, ast.Return | ast.Raise) for statement in behind for node in walk(statement))
    always = not written.branch and not written.loops and not early
    return Written(written.matmul, (), written.adds, written.blocks, whole=written.whole and always, led=written.led)


def check_call(
    scope: Scope,
    node: ast.Call,
    function: ast.FunctionDef,
    groups: Groups,
    given: Mapping[str, Operand | None],
    numbers: Mapping[str, str],
) -> None:
    """Take a call of ``function`` for the writes into PSUM that it makes.

    ``given`` are its tensors, ``numbers`` the texts of its other arguments, by parameter. Raises :class:`Refuse` where
    a group of the function would not start with a fresh tile.
    """
    for name, writes in groups.items():
        target = given[name] if name in given else _captured(scope, name)
        if target is None:
            what = f"it is not known what a matmul of the function writes to as '{name}'"
            raise Refuse(node, CODE, what, "pass a PSUM tile that this function declares")
        adds = all(w.adds for w in writes if w.matmul)
        taken: list[tuple[bool, bool, tuple[str | None, ...]]] = []
        for written in sorted(writes, key=lambda each: not each.matmul):
            blocks = tuple(_as_called(scope, function, block, numbers) for block in written.blocks)
            blocks = (*blocks_of(target), *blocks)
            if (written.matmul, written.led, blocks) not in taken:  # within one call the function itself is in order
                part = _blocks_alone(blocks)
                _check(scope, node, target, replace(written, adds=adds, blocks=blocks, part=part))
                taken.append((written.matmul, written.led, blocks))


def _blocks_alone(blocks: tuple[str | None, ...]) -> tuple[Part, ...] | None:
    """The part that is all of a block; ``None`` where an index is not known."""
    return tuple(Part(block, "1") for block in blocks if block is not None) if None not in blocks else None


def _as_called(scope: Scope, function: ast.FunctionDef, block: str | None, numbers: Mapping[str, str]) -> str | None:
    """A block index of ``function`` in terms of its caller; ``None`` where it is made of names of its own."""
    if block is None:
        return None
    stored = {n.id for n in of_kinds(function, ast.Name) if not isinstance(n.ctx, ast.Load)}
    parameters = {argument.arg for argument in of_kinds(function.args, ast.arg)}
    nested = any(inner is function for inner in walk(scope.function))
    for name in algebra.names(block):
        known = name in numbers if name in parameters else nested
        if name in stored or not known:
            return None
    return ast.unparse(
        with_names(algebra.parse(block), lambda name: algebra.parse(numbers[name]) if name in numbers else None)
    )


def _captured(scope: Scope, name: str) -> Operand | None:
    value = scope.names.env.get(name)
    own = isinstance(value, Tile) and value.declaration is not None and value.declaration.name == name
    return of_name(scope, name, value) if isinstance(value, Tile) and own else None


def _check_accumulated(scope: Scope, node: ast.AST, declaration: Declaration, earlier: list[Written]) -> None:
    """Beta 2 accumulates in one group of matmuls: raises :class:`Refuse` where the source does it otherwise."""
    if any(loop.dynamic for loop in repeating(scope, declaration)):
        what = f"'{declaration.name}' is accumulated in a loop on the device, which traces one matmul for all"
        raise Refuse(node, CODE, what, "accumulate in SBUF: add each product with nisa.tensor_tensor")
    if any(not w.matmul for w in earlier):
        raise Refuse(node, CODE, f"'{declaration.name}' is accumulated onto values that no matmul wrote", _ADD_APART)


_DECLARE_AGAIN = "declare the PSUM tile again right before this matmul: a fresh tile starts a new accumulation group"
_ADD_APART = "add them with nisa.tensor_tensor after the matmul: the first matmul of a group overwrites"


def check_group(scope: Scope, node: ast.AST, function: str, target: Operand, accumulate: bool) -> None:
    """Make Beta 2's automatic accumulation do what the source says.

    A whole tile that a matmul overwrites again is declared again first (a fresh tile starts a new group). Raises
    :class:`Refuse` where that is not possible.
    """
    value = target.value
    if isinstance(value, Tile) and target.perhaps_psum:
        part = tuple(part_of(target)) if target.pattern is None else None
        written = Written(
            function == "nc_matmul", (), accumulate, blocks_of(target), part, whole=is_whole(scope, target)
        )
        _check(scope, node, target, written)
        declaration = value.declaration
        known = declaration is None or declaration.node in scope.memory.first_matmuls
        if declaration is not None and not known and written.matmul and written.whole:
            _note_first(scope, declaration, blocks_of(target))


def _check(scope: Scope, node: ast.AST, target: Operand, written: Written) -> None:
    """The same for a write whose blocks are those that the function at hand knows, by itself or by one that it calls.

    Raises :class:`Refuse` as above.
    """
    declaration = _declared(node, target, written)
    if declaration is None:
        return
    now = _placed(scope, target, declaration, written)
    known = scope.memory.psum_writes.get(declaration, [])
    if not written.matmul:
        now = _after_matmuls(scope, node, declaration, now, known)
    elif any(w.matmul and not w.adds and not w.fresh and _meets_again(scope, declaration, w, now) for w in known):
        what = f"a matmul in the next pass of a loop overwrites what this one writes into '{declaration.name}'"
        raise Refuse(node, CODE, what, _DECLARE_AGAIN)
    before = known if written.matmul else []
    earlier = [w for w in before if not is_replaced(w, now) and not exclusive(scope, declaration, w, now)]
    if written.matmul and written.adds:
        _check_accumulated(scope, node, declaration, earlier)
    elif written.matmul:
        refusal = scope.attempt(_check_fresh, scope, node, declaration, now, earlier)
        if refusal is not None:
            if not _declare_again(scope, declaration, target):
                raise refusal
            here = (now.branch, now.loops)
            now = replace(now, fresh=True)
            scope.memory.psum_writes[declaration] = [replace(w, ended=(*w.ended, here)) for w in known]
    _remember(scope, declaration, now)


def _declared(node: ast.AST, target: Operand, written: Written) -> Declaration | None:
    """The declaration of the PSUM tensor that is written; ``None`` where that is not asked.

    Raises :class:`Refuse` for a matmul whose group is not known.
    """
    value = target.value
    if not isinstance(value, Tile) or not target.perhaps_psum:
        return None
    if value.space == EITHER and written.matmul:
        what = f"a matmul into '{target.base}', which is in PSUM in one branch only"
        raise Refuse(node, CODE, what, "write the matmul in that branch")
    if value.declaration is None and written.matmul:
        raise Refuse(
            node,
            CODE,
            "a matmul into a PSUM tile that this function did not declare",
            "declare the PSUM tile where it is written: a fresh tile starts a new accumulation group",
        )
    return value.declaration


def _placed(scope: Scope, target: Operand, declaration: Declaration, written: Written) -> Written:
    """A write at the statement at hand: its branch and its loops. An index that may be negative is not known."""
    now = replace(
        written,
        branch=scope.place.branch,
        ranges=ranges_around(scope),
        loops=tuple(loop.statement for loop in repeating(scope, declaration)),
        whole=written.whole and is_whole(scope, target),
    )
    unknown = _may_count_from_end(scope, declaration, now)
    return replace(now, blocks=(None,) * len(now.blocks), part=None) if unknown else now


def _may_count_from_end(scope: Scope, declaration: Declaration, now: Written) -> bool:
    """May an index of a Python list be negative?"""
    known = scope.names.env.get(declaration.name)
    listed = isinstance(known, Tile) and known.listed
    return listed and not all(block is not None and is_index(scope, block, now.ranges) for block in now.blocks)


def _after_matmuls(
    scope: Scope, node: ast.AST, declaration: Declaration, now: Written, known: list[Written]
) -> Written:
    """A write of another instruction, which must not come before the first matmul in another pass of a loop.

    It does not where a matmul has written there in the same pass, or each pass writes other parts. Raises
    :class:`Refuse` for any other.
    """
    matmuls = [w for w in known if w.matmul]
    needed = [None if now.led else leading(scope, matmul, now) for matmul in matmuls]
    led = now.led or any(each == [] for each in needed)
    if not led:
        conditions = next((each for each in needed if each), None)
        for matmul in matmuls:
            if matmul.adds and conditions is None and _meets_again(scope, declaration, matmul, now):
                what = f"the next pass of a loop accumulates onto what this writes into '{declaration.name}'"
                raise Refuse(node, CODE, what, _ADD_APART)
        if conditions is not None and any(m.adds and set(m.loops) & set(now.loops) for m in matmuls):
            for condition in conditions:
                scope.emit_assertion(condition, LOOPS_THAT_RUN)
            led = True
    return replace(now, led=led)


def _meets_again(scope: Scope, declaration: Declaration, matmul: Written, now: Written) -> bool:
    """May a matmul find what ``now`` wrote in an earlier pass of a loop around both?"""
    common = [loop for loop in repeating(scope, declaration) if loop.statement in matmul.loops]
    if not common or disjoint(scope, matmul, now):
        return False
    same = [now.part] if matmul.part == now.part else []
    same += [_blocks_alone(now.blocks)] if same_blocks(matmul, now) else []
    return not any(part is not None and recurrence(scope, common, part) == NEVER for part in same)


def _note_first(scope: Scope, declaration: Declaration, blocks: tuple[str, ...]) -> None:
    """Note that the statement at hand is the first that writes a matmul into a tensor: a whole tile of it."""
    declared = scope.names.env.get(declaration.name)
    sizes = declared.blocks if isinstance(declared, Tile) and declared.declaration == declaration else None
    if isinstance(declared, Tile) and declared.style == "loop" and sizes is not None:
        blocks, sizes = (), ()  # a block is all that an iteration has
    if scope.place.statement is not None and sizes is not None and len(blocks) == len(sizes):
        scope.memory.first_matmuls[declaration.node] = declaration, FirstMatmul(scope.place.statement, blocks, sizes)


def written_at_declaration(scope: Scope, declaration: Declaration, fill: str | None) -> None:
    """A PSUM tile that starts as anything but zero holds values that no matmul wrote."""
    if fill is not None and scope.constant(fill) != 0 and fill not in ("0.0", "0"):
        _remember(scope, declaration, Written(False, scope.place.branch))


def bound_anew(scope: Scope, declaration: Declaration) -> None:
    """A matmul is about to make a tile under a name that had another one: that one's matmuls are no writes into this.

    What other instructions wrote is kept, for a loop that never runs leaves the name to the tile that it had.
    """
    writes = scope.memory.psum_writes.get(declaration)
    if writes is not None:
        here = scope.place.branch
        scope.memory.psum_writes[declaration] = [w for w in writes if not w.matmul or w.branch[: len(here)] != here]


def _declare_again(scope: Scope, declaration: Declaration, target: Operand) -> bool:
    """Emit the declaration of a tile again, right before a matmul that overwrites all of it."""
    whole = target.base == declaration.name and is_whole(scope, target)
    stable = declaration.text and scope.names.are_fixed(algebra.names(declaration.text))
    if not whole or not stable or _has_other_names(scope, declaration):
        return False
    scope.apply(CODE, declaration.node)
    scope.emit(f"{declaration.name} = {declaration.text}")
    _drop_unused(scope, declaration)
    return True


def _has_other_names(scope: Scope, declaration: Declaration) -> bool:
    """May something but the tile's own name, in this function, lead to the tile?"""
    for name, value in scope.names.env.items():
        if name != declaration.name and isinstance(value, Tile) and value.declaration == declaration:
            return True
    for name in _other_names(scope.function, declaration.name):  # in a branch, say
        other = scope.names.env.get(name)
        if isinstance(other, Tile) and other.declaration is None:
            return True
    return _is_kept(scope, scope.function, declaration.name, scope.module, frozenset())


def _other_names(function: ast.FunctionDef, name: str) -> set[str]:
    """Names that the assignments of a function may bind to what ``name`` is, or to a part of it."""
    bindings = [n for n in of_kinds(function, ast.Assign, ast.AnnAssign) if n.value is not None]
    found = {name}
    while True:
        new = {t for n in bindings if n.value is not None and _leads_to(n.value) & found for t in bound_by(n)} - found
        if not new:
            return found - {name}
        found |= new


def _leads_to(value: ast.expr) -> set[str]:
    """The names whose tensors an expression may be, or be a part or another view of."""
    pending, found = [value], set[str]()
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Subscript):
            pending.append(node.value)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            pending.append(node.func.value)
        elif isinstance(node, ast.IfExp | ast.BoolOp | ast.Tuple | ast.List | ast.Starred):
            pending += [child for child in children(node) if isinstance(child, ast.expr)]
    return found


def _is_kept(
    scope: Scope, function: ast.FunctionDef, name: str, home: Module, seen: frozenset[ast.FunctionDef]
) -> bool:
    """May a function give what it calls ``name`` to a container, a closure, or code that keeps it?"""
    for node in walk(function):
        parts: list[ast.AST] = []
        if isinstance(node, ast.FunctionDef | ast.Lambda) and node is not function:
            parts = list(walk(node))
        elif isinstance(node, ast.List | ast.Tuple | ast.Dict):
            parts = children(node)
        elif seen and isinstance(node, ast.Return):
            parts = list(walk(node))
        elif seen and isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr) and node.value is not None:
            parts = [] if isinstance(node.value, ast.Call) else list(walk(node.value))
        elif isinstance(node, ast.Call) and not _is_api(home, node.func):
            parts = _kept_arguments(scope, node, name, home, seen | {function})
        if any(isinstance(part, ast.Name) and part.id == name and isinstance(part.ctx, ast.Load) for part in parts):
            return True
    return False


def _is_api(module: Module, node: ast.expr) -> bool:
    """Does a call mean a function of NKI or of another package?"""
    chain = dotted(node)
    bound = module.symbols.imports.get(chain[0]) if chain is not None else None
    return bound is not None and bound.is_nki


def _kept_arguments(
    scope: Scope, node: ast.Call, name: str, home: Module, seen: frozenset[ast.FunctionDef]
) -> list[ast.AST]:
    """The arguments of a call that its function may keep; one that is at hand is looked into."""
    given: list[ast.AST] = [*node.args, *(keyword.value for keyword in node.keywords)]
    own = home.symbols.functions.get(node.func.id) if isinstance(node.func, ast.Name) else None
    module, function = (home, own) if own is not None else home.program.function(home, node.func) or (home, None)
    if function is None or function in seen or any(isinstance(a, ast.Starred) for a in node.args):
        return given
    return [
        argument
        for parameter, _, argument in by_parameter(function, node)
        if isinstance(argument, ast.Name)
        and argument.id == name
        and (not parameter or _is_kept(scope, function, parameter, module, seen))
    ]


def _drop_unused(scope: Scope, declaration: Declaration) -> None:
    """Remove the first declaration when every use of the tile stands in the loop that declares it again."""
    if not scope.place.loops or scope.names.assigned[declaration.name] != 1:
        return
    if scope.place.branch or scope.memory.psum_writes.get(declaration) or not _is_only_used_in(scope, declaration):
        return
    edits = scope.module.plan.edits
    for statement, new in edits.replaced.items():
        if [n.text for n in new] == [f"{declaration.name} = {declaration.text}"]:
            edits.replaced[statement] = []
            return


def _is_only_used_in(scope: Scope, declaration: Declaration) -> bool:
    """Do all uses of a tile stand in the innermost loop from the current statement on, and not its declaration?"""
    inside = set(walk(scope.place.loops[-1].statement))
    first = scope.place.statement.lineno if scope.place.statement is not None else 0
    uses = [n for n in of_kinds(scope.function, ast.Name) if n.id == declaration.name]
    early = any(n in inside and n.lineno < first for n in uses)
    outside = any(n not in inside and isinstance(n.ctx, ast.Load) for n in uses)
    return declaration.node not in inside and not early and not outside


def _remember(scope: Scope, declaration: Declaration, written: Written) -> None:
    scope.memory.psum_writes[declaration] = [*scope.memory.psum_writes.get(declaration, []), written]


def _check_fresh(scope: Scope, node: ast.AST, declaration: Declaration, now: Written, earlier: list[Written]) -> None:
    if not all(disjoint(scope, w, now) or _asserted_apart(scope, w, now) for w in earlier if w.matmul):
        raise Refuse(node, CODE, f"'{declaration.name}' is overwritten by a second matmul", _DECLARE_AGAIN)
    part = now.part or tuple(Part(block, "1") for block in now.blocks if block is not None)
    again = recurrence(scope, repeating(scope, declaration), part)
    if again.loop is not None:
        what = f"'{declaration.name}' may be overwritten by a matmul again in the loop over '{again.loop.variable}'"
        raise Refuse(node, CODE, what, _DECLARE_AGAIN)
    for condition in again.conditions:
        scope.emit_assertion(condition, "parts of a PSUM tile that do not overlap")


def _asserted_apart(scope: Scope, a: Written, b: Written) -> bool:
    """Assert in the output that two writes are into different blocks, where only a trace can tell."""
    for x, y in zip(a.blocks, b.blocks, strict=False):
        if x is None or y is None or algebra.equal(x, y, scope.sizes.definitions):
            continue
        places = extremes(scope, x, a.ranges), extremes(scope, y, b.ranges)
        single = all(place is not None and algebra.equal(*place, scope.sizes.definitions) for place in places)
        if single and not (places[0] and places[1] and scope.equal(places[0][0], places[1][0])):
            scope.emit_assertion(f"{x} != {y}", "writes into different blocks")
            return True
    return False
