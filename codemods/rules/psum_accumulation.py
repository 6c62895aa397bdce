"""NKI023 psum-accumulation: ``psum[...] += matmul`` becomes matmuls into one tile, ``psum[...] = matmul`` a fresh tile.

Why: Beta 1 says whether a matmul overwrites or accumulates. Beta 2 decides by itself: the first matmul into a freshly
declared tile overwrites, later ones accumulate. Where Beta 1 overwrote a tile again, the output declares it again
right before the matmul, which starts a new accumulation group at the same address.

A function that writes a matmul into a tile that it got is like a matmul where it is called: what each call passes must
be fresh if the function overwrites it, and the caller declares it again if it is not. Which blocks of a tensor a nested
function overwrites, the arguments of its calls say; where only a trace can tell two apart, the output asserts it.

Zeros that Beta 1 wrote into a tile to have something to add to go where the first matmul overwrites all of the tile.
If that stands in a loop, the output asserts that the loop runs, where that is not known.

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

from ..analysis.unit_loops import bound_in_body, counted
from ..expr import algebra
from ..expr.emission import Refuse
from ..expr.frames import FirstMatmul, Groups, Written
from ..expr.operands import Operand
from ..expr.values import EITHER, Declaration, Tile, Value
from ..render.patterns import of_name
from ..syntax import codes
from ..syntax.names import dotted
from ..syntax.node_index import children, of_kinds, walk
from ..syntax.nodes import bound_by, by_parameter, with_names

if TYPE_CHECKING:
    from ..analysis.scope import Scope
    from ..expr.frames import Loop
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
    """What a function that was walked writes into PSUM tiles of others."""
    return {d.name: tuple(writes) for d, writes in scope.psum_writes.items() if d.node is _ELSEWHERE}


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
        matmuls = [w for w in writes if w.matmul]
        adds = all(w.adds for w in matmuls)
        taken: list[tuple[str | None, ...]] = []
        for written in matmuls:
            blocks = tuple(_as_called(scope, function, block, numbers) for block in written.blocks)
            if blocks not in taken:  # within one call the function itself is in order
                check_group(scope, node, "nc_matmul", target, adds, blocks)
                taken.append(blocks)
        if len(matmuls) < len(writes):
            check_group(scope, node, "", target, False)


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
    value = scope.env.get(name)
    own = isinstance(value, Tile) and value.declaration is not None and value.declaration.name == name
    return of_name(scope, name, value) if isinstance(value, Tile) and own else None


def _repeating(scope: Scope, declaration: Declaration) -> list[Loop]:
    """The loops around the statement at hand that do not declare the tile again in each iteration."""
    return [loop for loop in scope.loops if loop.statement not in declaration.loops]


def _check_accumulated(scope: Scope, node: ast.AST, declaration: Declaration, earlier: list[Written]) -> None:
    """Beta 2 accumulates in one group of matmuls: raises :class:`Refuse` where the source does it otherwise."""
    if any(loop.dynamic for loop in _repeating(scope, declaration)):
        what = f"'{declaration.name}' is accumulated in a loop on the device, which traces one matmul for all"
        raise Refuse(node, CODE, what, "accumulate in SBUF: add each product with nisa.tensor_tensor")
    if any(not w.matmul for w in earlier):
        raise Refuse(
            node,
            CODE,
            f"'{declaration.name}' is accumulated onto values that no matmul wrote",
            "add them with nisa.tensor_tensor after the matmul: the first matmul of a group overwrites",
        )


def check_group(
    scope: Scope,
    node: ast.AST,
    function: str,
    target: Operand,
    accumulate: bool,
    blocks: tuple[str | None, ...] | None = None,
) -> None:
    """Make Beta 2's automatic accumulation do what the source says.

    ``blocks`` are the block indices that a call writes; without a call they are those of ``target``. A whole tile that
    a matmul overwrites again is declared again first (a fresh tile starts a new group). Raises :class:`Refuse` where
    that is not possible.
    """
    value = target.value
    if not isinstance(value, Tile) or not target.perhaps_psum:
        return
    if value.space == EITHER and function == "nc_matmul":
        what = f"a matmul into '{target.base}', which is in PSUM in one branch only"
        raise Refuse(node, CODE, what, "write the matmul in that branch")
    declaration = value.declaration
    if function != "nc_matmul":
        if declaration is not None:
            _remember(scope, declaration, Written(False, scope.branch))
        return
    if declaration is None:
        raise Refuse(
            node,
            CODE,
            "a matmul into a PSUM tile that this function did not declare",
            "declare the PSUM tile where it is written: a fresh tile starts a new accumulation group",
        )
    now = Written(True, scope.branch, accumulate, blocks or _blocks(target), _ranges(scope))
    earlier = [w for w in scope.psum_writes.get(declaration, []) if not _exclusive(w.branch, scope.branch)]
    if accumulate:
        _check_accumulated(scope, node, declaration, earlier)
    else:
        starts = _starts(target) if blocks is None else [block for block in blocks if block is not None]
        refusal = scope.attempt(_check_fresh, scope, node, declaration, now, starts, earlier)
        if refusal is not None:
            if not _declare_again(scope, declaration, target):
                raise refusal
            scope.psum_writes[declaration] = []
    if declaration.node not in scope.first_matmuls and blocks is None and _is_whole(scope, target):
        _note_first(scope, declaration, _blocks(target))
    _remember(scope, declaration, now)


def _note_first(scope: Scope, declaration: Declaration, blocks: tuple[str, ...]) -> None:
    """Note that the statement at hand is the first that writes a matmul into a tensor: a whole tile of it."""
    declared = scope.env.get(declaration.name)
    sizes = declared.blocks if isinstance(declared, Tile) and declared.declaration == declaration else None
    if isinstance(declared, Tile) and declared.style == "loop" and sizes is not None:
        blocks, sizes = (), ()  # a block is all that an iteration has
    if scope.current is not None and sizes is not None and len(blocks) == len(sizes):
        scope.first_matmuls[declaration.node] = declaration, FirstMatmul(scope.current, blocks, sizes)


def written_at_declaration(scope: Scope, declaration: Declaration, fill: str | None) -> None:
    """A PSUM tile that starts as anything but zero holds values that no matmul wrote."""
    if fill is not None and scope.constant(fill) != 0 and fill not in ("0.0", "0"):
        _remember(scope, declaration, Written(False, scope.branch))


def bound_anew(scope: Scope, declaration: Declaration) -> None:
    """A matmul is about to make a tile under a name that had another one: that one's matmuls are no writes into this.

    What other instructions wrote is kept, for a loop that never runs leaves the name to the tile that it had.
    """
    writes = scope.psum_writes.get(declaration)
    if writes is not None:
        here = scope.branch
        scope.psum_writes[declaration] = [w for w in writes if not w.matmul or w.branch[: len(here)] != here]


def _declare_again(scope: Scope, declaration: Declaration, target: Operand) -> bool:
    """Emit the declaration of a tile again, right before a matmul that overwrites all of it."""
    whole = target.base == declaration.name and _is_whole(scope, target)
    stable = declaration.text and all(scope.assigned[name] <= 1 for name in algebra.names(declaration.text))
    if not whole or not stable or _has_other_names(scope, declaration):
        return False
    scope.apply(CODE, declaration.node)
    scope.emit(f"{declaration.name} = {declaration.text}")
    _drop_unused(scope, declaration)
    return True


def _is_whole(scope: Scope, target: Operand) -> bool:
    """Does an instruction write all of a tile, under no mask?"""
    everything = target.items is None or all(item.full for item in target.items)
    return everything and target.pattern is None and not scope.guards and not scope.clamps


def _has_other_names(scope: Scope, declaration: Declaration) -> bool:
    """May something but the tile's own name, in this function, lead to the tile?"""
    for name, value in scope.env.items():
        if name != declaration.name and isinstance(value, Tile) and value.declaration == declaration:
            return True
    for name in _other_names(scope.function, declaration.name):  # in a branch, say
        other = scope.env.get(name)
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
    if not scope.loops or scope.assigned[declaration.name] != 1:
        return
    if scope.branch or scope.psum_writes.get(declaration) or not _is_only_used_in(scope, declaration):
        return
    edits = scope.module.plan.edits
    for statement, new in edits.replaced.items():
        if [n.text for n in new] == [f"{declaration.name} = {declaration.text}"]:
            edits.replaced[statement] = []
            return


def _is_only_used_in(scope: Scope, declaration: Declaration) -> bool:
    """Do all uses of a tile stand in the innermost loop from the current statement on, and not its declaration?"""
    inside = set(walk(scope.loops[-1].statement))
    first = scope.current.lineno if scope.current is not None else 0
    uses = [n for n in of_kinds(scope.function, ast.Name) if n.id == declaration.name]
    early = any(n in inside and n.lineno < first for n in uses)
    outside = any(n not in inside and isinstance(n.ctx, ast.Load) for n in uses)
    return declaration.node not in inside and not early and not outside


def _remember(scope: Scope, declaration: Declaration, written: Written) -> None:
    scope.psum_writes[declaration] = [*scope.psum_writes.get(declaration, []), written]


def _exclusive(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Do two statements stand in different branches of one ``if``? (A branch is ``+n`` or ``-n``.)"""
    return any(-branch in b for branch in a)


def _check_fresh(
    scope: Scope, node: ast.AST, declaration: Declaration, now: Written, starts: list[str], earlier: list[Written]
) -> None:
    help = "declare the PSUM tile again right before this matmul: a fresh tile starts a new accumulation group"
    if not all(_disjoint(scope, w, now) or _asserted_apart(scope, w, now) for w in earlier if w.matmul):
        raise Refuse(node, CODE, f"'{declaration.name}' is overwritten by a second matmul", help)
    used: list[tuple[int, str]] = []
    for loop in _repeating(scope, declaration):
        variable, steady = loop.variable, loop.variable not in bound_in_body(loop.statement)
        place = next(((i, c) for i, s in enumerate(starts) if (c := _coefficient(scope, s, variable))), None)
        if place is None or place in used or not steady:
            raise Refuse(
                node,
                CODE,
                f"'{declaration.name}' may be overwritten by a matmul again in the loop over '{variable}'",
                help,
            )
        used.append(place)


def _starts(target: Operand) -> list[str]:
    """Every index expression of an access: block indices and the starts of its slices."""
    return [*_blocks(target), *(item.start for item in target.items or ())]


def _blocks(target: Operand) -> tuple[str, ...]:
    """The block indices of an access, outermost first."""
    found: list[str] = []
    base: ast.AST = algebra.parse(target.base)
    while isinstance(base, ast.Subscript):
        found.insert(0, ast.unparse(base.slice))
        base = base.value
    return tuple(found)


def _ranges(scope: Scope) -> dict[str, tuple[str, str]]:
    """The first value and the end of the variable of each loop that runs, where its steps are 1."""
    found = {}
    for loop in scope.loops:
        values = counted(scope, loop.statement)
        if values is not None:
            found[loop.variable] = ast.unparse(values[0]), ast.unparse(values[1])
    return found


def _coefficient(scope: Scope, text: str, variable: str) -> str | None:
    """The coefficient of ``variable`` in an index that is linear in it, as text; ``None`` otherwise."""
    polynomial = algebra.normal(text, scope.definitions)
    found = None
    for monomial, coefficient in polynomial.items():
        inside = [a for a in monomial if variable in algebra.names(a)]
        if not inside:
            continue
        if inside != [variable] or found is not None:
            return None
        found = algebra.show({tuple(a for a in monomial if a != variable): coefficient})
    return found


def _disjoint(scope: Scope, a: Written, b: Written) -> bool:
    """Are two writes always into different blocks of one tensor, in whichever iterations of their loops?"""
    return any(
        x is not None and y is not None and _differ(scope, x, a.ranges, y, b.ranges)
        for x, y in zip(a.blocks, b.blocks, strict=False)
    )


def _asserted_apart(scope: Scope, a: Written, b: Written) -> bool:
    """Assert in the output that two writes are into different blocks, where only a trace can tell."""
    for x, y in zip(a.blocks, b.blocks, strict=False):
        if x is None or y is None or algebra.equal(x, y, scope.definitions):
            continue
        places = _extremes(scope, x, a.ranges), _extremes(scope, y, b.ranges)
        if all(place is not None and algebra.equal(*place, scope.definitions) for place in places):
            scope.emit_assertion(f"{x} != {y}", "writes into different blocks")
            return True
    return False


def _differ(
    scope: Scope, x: str, x_ranges: Mapping[str, tuple[str, str]], y: str, y_ranges: Mapping[str, tuple[str, str]]
) -> bool:
    """Is one of two indices larger than the other, whatever the variables of the loops around each are?"""
    low, high = _extremes(scope, x, x_ranges), _extremes(scope, y, y_ranges)
    if low is None or high is None:
        return False
    pairs = ((low[0], high[1]), (high[0], low[1]))
    return any((algebra.constant(f"{least} - ({most})", scope.definitions) or 0) > 0 for least, most in pairs)


def _extremes(scope: Scope, index: str, ranges: Mapping[str, tuple[str, str]]) -> tuple[str, str] | None:
    """The least and the greatest value of an index, in names that are bound once; ``None`` where it is not linear."""
    least = greatest = "0"
    for monomial, coefficient in algebra.normal(index, scope.definitions).items():
        term = algebra.paren(algebra.show({monomial: coefficient}))
        varying = [v for v in ranges if any(v in algebra.names(atom) for atom in monomial)]
        if varying and monomial != (varying[0],):
            return None
        for variable in varying:
            first, end = ranges[variable]
            ends = [f"{coefficient} * ({first})", f"{coefficient} * ({end} - 1)"]
            below, above = ends if coefficient > 0 else reversed(ends)
            least, greatest = f"{least} + {below}", f"{greatest} + {above}"
        if not varying:
            least, greatest = f"{least} + {term}", f"{greatest} + {term}"
    changing = _changing(scope.outermost)
    stable = not any(name in changing for text in (least, greatest) for name in algebra.names(text))
    return (least, greatest) if stable else None


def _changing(function: ast.FunctionDef) -> set[str]:
    """Names that a function binds more than once, or in a loop: the same text may be another number the next time."""
    bound = [n.id for n in of_kinds(function, ast.Name) if isinstance(n.ctx, ast.Store)]
    loops = list(of_kinds(function, ast.For, ast.While))
    inside = {n.id for loop in loops for n in of_kinds(loop, ast.Name) if isinstance(n.ctx, ast.Store)}
    return inside | {name for name in bound if bound.count(name) > 1}
