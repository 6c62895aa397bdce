"""NKI004 loop-state: Python values that a loop body advances are saved before the loop, and restored in its body.

Why: Beta 1 traced the body of ``affine_range``, ``sequential_range`` and, in a kernel, ``range`` once, whatever the
trip count: ``address += size`` happened once. Beta 2 runs every iteration, so the address would wander off. The
output puts the value that the name had before the loop back at the start of each iteration.

A ``return`` at the end of such a loop, with which the function ends, moves behind it: Beta 1 returned after the last
iteration.

Safe: the names after the loop have what one iteration leaves. Left alone: ``return`` in the middle of such a loop, and
objects that a body changes in place: the kernel stops there, for Beta 2 would change them in each iteration. Left
alone, too: a loop of which the source does not tell whether its body was traced once, and whose body changes anything.

A note says where a condition on the loop's variable binds a name that is read behind it: Beta 1 traced both branches,
and its migration guide calls such a name undefined. The output has what the branch binds that each iteration takes.

Source: NKI migration guide, "Consistent control flow behavior".
"""

from __future__ import annotations

import ast
import itertools
from collections import Counter
from collections.abc import Iterator, Mapping

from ..analysis.carried_names import carried_names
from ..analysis.changed_objects import Change, changes
from ..analysis.instructions import HANDLERS
from ..analysis.maybe_tensors import may_be_no_number, names_taken
from ..analysis.scope import Scope
from ..analysis.traced_conditions import undefined_behind
from ..analysis.unit_loops import bound_in_body, counted
from ..expr.emission import Refuse
from ..expr.values import (
    EARLIER,
    ERASED,
    Absent,
    Constant,
    DType,
    Flag,
    Function,
    Gone,
    Hbm,
    Numbers,
    Object,
    Python,
    Several,
    Slice,
    Tile,
    Value,
    merge,
)
from ..plan.loop_invariants import at_head
from ..project.reaching_definitions import Definitions, definitions, names_read, own_parts
from ..project.usage import names_used
from ..render.index import index_value
from ..render.vector_sizes import restored
from ..syntax.given_values import given_values
from ..syntax.node_index import indexed, of_kinds, walk
from ..syntax.nodes import bound_by

CODE = "NKI004"
GOLDENS = ("python_state", "running_counter", "return_in_loop", "loop_under_a_name")


def restore_state(scope: Scope, statement: ast.For, targets: set[str]) -> None:
    """Names whose value one iteration hands to the next: Beta 1 traced the body once, so they advance once (NKI004)."""
    carried = [n for n in carried_names(statement, scope.outermost) if n not in targets and n in scope.names.env]
    for name in carried:
        if name in scope.sizes.resized:
            restored(scope, statement, name)
    if not carried:
        return
    scope.apply(CODE, statement)
    for name in carried:
        value = scope.names.env[name]
        if type(value) is not Value and not isinstance(value, Python | DType | Tile | Hbm | Several):
            continue
        saved = _saved_already(scope, statement, name)
        if saved:
            scope.module.plan.edits.keep_again(statement, name, saved)
        else:
            scope.module.plan.edits.keep_over(statement, name, scope.fresh(f"{name}_before_loop"))


def _saved_already(scope: Scope, statement: ast.For, name: str) -> str:
    """What holds the value of a name in front of a loop: saved before the loop around it, which binds it nowhere else
    on the way; nothing where nothing does."""
    around = scope.place.loops[-1].statement if scope.place.loops else None
    elsewhere = any(name in node.names for node in of_kinds(scope.outermost, ast.Nonlocal, ast.Global))
    if not isinstance(around, ast.For) or not any(s is statement for s in around.body) or elsewhere:
        return ""
    before = itertools.takewhile(lambda s: s is not statement, around.body)
    texts = [new.text for new in scope.module.plan.edits.prologue.get(around, []) if new.keeps == name]
    return texts[0].removeprefix(f"{name} = ") if texts and not any(name in bound_by(s) for s in before) else ""


def drop_needless(scope: Scope, statement: ast.For) -> None:
    """Take :func:`restore_state` back for names that the rewritten body does not bind any more (``psum += matmul``)."""
    edits = scope.module.plan.edits
    kept = {new.keeps for new in edits.prologue.get(statement, []) if new.keeps}
    if not kept:
        return
    _read, bound = names_used(edits, [statement])
    needless = kept - bound
    for written in (edits.before.get(statement, []), edits.prologue[statement]):
        written[:] = [new for new in written if new.keeps not in needless]
    if needless == kept:
        scope.module.plan.applied[CODE] -= 1


def check_last(scope: Scope, statement: ast.Return) -> None:
    """Raise :class:`Refuse` unless a ``return`` can move behind the loops that it ends, and that end the function."""
    body = scope.function.body
    for loop in scope.place.loops:
        if body[-1] is not loop.statement or not loop.traced_once:
            break
        body = loop.statement.body
    inside = bound_in_body(scope.place.loops[0].statement) | {loop.variable for loop in scope.place.loops}
    read = {n.id for n in of_kinds(statement, ast.Name)}
    if body[-1] is not statement or read & inside:
        raise Refuse(
            statement,
            CODE,
            "return inside a loop: Beta 1 returned after the last iteration, Beta 2 returns in the first",
            "move the return after the loop",
        )


def forget_carried(scope: Scope, statement: ast.For | ast.While | ast.With) -> dict[str, Value]:
    """In a loop that both versions run again and again, a name may mean something else in each iteration.

    Returns what the names are at its head that the loop carries and that something binds before it. What the body alone
    binds is there from the second iteration on, and may be a tensor: it is :data:`EARLIER` until then.
    """
    carried = []
    for name in carried_names(statement, scope.outermost):
        if name in scope.names.env:
            carried.append(name)
        elif any(may_be_no_number(scope, value) for value in given_values(statement, name)):
            scope.names.env[name] = EARLIER
            scope.names.unknown_results.add(name)
    for name in carried:
        value = scope.names.env[name]
        if type(value) is Python and _becomes_tile(scope, statement, name):
            scope.names.env[name] = Value()  # a number in the first iteration only
        elif type(value) is Python:
            scope.names.env[name] = Python()  # positive at first, perhaps
        elif (
            isinstance(value, ERASED | Slice)
            and name not in scope.sizes.resized
            and not _bound_alike(scope, statement, name, value)
        ):
            scope.names.env[name] = Gone("changes from one iteration to the next")
        elif isinstance(value, Absent) and _computed(scope, statement, name):
            scope.names.env[name] = Value()  # None in the first iteration, a tensor in those after it
            scope.names.none_at_first.add(name)
        elif isinstance(value, Object | Flag | Numbers | Several | Constant | Function):
            scope.names.env[name] = _of_any_pass(value)
        scope.names.env[name] = at_head(scope, statement, name, scope.names.env[name])
        if type(scope.names.env[name]) is Value:
            scope.names.unknown_results.add(name)
    return {name: scope.names.env[name] for name in carried}


def _of_any_pass(value: Value) -> Value:
    """What is known of a value in every iteration: its kind, not which object, truth, array or function it is."""
    if isinstance(value, Several):
        return Several(tuple(_of_any_pass(part) for part in value.parts))
    if isinstance(value, Hbm | Tile | DType) or type(value) is Python:
        return value
    return Python() if isinstance(value, Python) and not isinstance(value, Absent) else Value()


def _bound_alike(scope: Scope, loop: ast.For | ast.While | ast.With, name: str, value: Value) -> bool:
    """Does the body bind an index vector to nothing but the vector that it is already?"""
    nodes = [n for s in loop.body for n in walk(s)]
    stores = [n for n in nodes if isinstance(n, ast.Name) and n.id == name and not isinstance(n.ctx, ast.Load)]
    made = [n.value for n in nodes if isinstance(n, ast.Assign) and [*map(ast.unparse, n.targets)] == [name]]
    if len(stores) != len(made) or scope.output.lines or not all(_is_steady(scope, loop, m) for m in made):
        return False
    found = [scope.attempt(index_value, scope, m) for m in made]
    known = [other for other in found if isinstance(other, Value)]
    return len(known) == len(found) and not scope.output.lines and all(merge(value, other) is value for other in known)


def _is_steady(scope: Scope, loop: ast.For | ast.While | ast.With, value: ast.expr) -> bool:
    """Is an expression plain, and of names that nothing binds again?"""
    names = {n.id for n in of_kinds(value, ast.Name)}
    changing = bound_by(loop) | {n for n in names if scope.names.assigned[n] > 1}
    return all(isinstance(n, _PLAIN) for n in walk(value)) and not names & changing


_PLAIN = (
    *(ast.Name, ast.Attribute, ast.Constant, ast.Call, ast.Subscript, ast.Slice, ast.Tuple, ast.BinOp, ast.UnaryOp),
    *(ast.operator, ast.unaryop, ast.expr_context),
)


def _computed(scope: Scope, loop: ast.For | ast.While | ast.With, name: str, seen: tuple[str, ...] = ()) -> bool:
    """Does the body of a loop bind ``name`` to what the language or an instruction computes, under any name?"""
    bound = [n for s in loop.body for n in of_kinds(s, ast.Assign) if name in bound_by(n)]
    calls = (n for statement in bound for n in of_kinds(statement.value, ast.Call))
    if any((scope.qualified(call.func) or "").startswith(("nl.", "nisa.")) for call in calls):
        return True
    others = {statement.value.id for statement in bound if isinstance(statement.value, ast.Name)} - {name, *seen}
    return any(_computed(scope, loop, other, (*seen, name)) for other in sorted(others))


def _becomes_tile(
    scope: Scope, loop: ast.For | ast.While | ast.With, name: str, seen: frozenset[str] = frozenset()
) -> bool:
    """Does the body of a loop bind ``name`` to what an instruction, or an operator on a tile, gives?"""
    if name in seen:
        return False
    for bound in (n for s in loop.body for n in of_kinds(s, ast.Assign, ast.AugAssign) if name in bound_by(n)):
        calls = [scope.qualified(n.func) for n in of_kinds(bound.value, ast.Call)]
        if any(call in HANDLERS for call in calls):
            return True
        names = [] if calls else [n for n in names_taken(bound.value) if n != name]
        if any(isinstance(scope.names.env.get(n), Tile) or _becomes_tile(scope, loop, n, seen | {name}) for n in names):
            return True
    return False


def none_at_first(scope: Scope, test: ast.expr) -> tuple[str, bool] | None:
    """The name that is None in the first iteration only, and whether the test holds there: ``total is None``."""
    if not (isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and len(test.ops) == 1):
        return None
    name, other, operator = test.left.id, test.comparators[0], test.ops[0]
    if name not in scope.names.none_at_first or type(scope.names.env.get(name)) is not Value:
        return None
    if not (isinstance(other, ast.Constant) and other.value is None):
        return None
    return (name, isinstance(operator, ast.Is | ast.Eq)) if isinstance(operator, _IDENTITY) else None


_IDENTITY = (ast.Is, ast.Eq, ast.IsNot, ast.NotEq)


def check_same_tensor(scope: Scope, statement: ast.If, name: str, first: Value | None, later: Value | None) -> None:
    """Report a name to which the first iteration and those after it give tensors that are not alike."""
    alike = isinstance(first, Tile) and isinstance(later, Tile) and first.space == later.space
    alike = alike and (first.dims is None) == (later.dims is None)  # type: ignore[union-attr]  # alike: both tensors
    if not alike or len(first.dims or ()) != len(later.dims or ()):  # type: ignore[union-attr]  # alike: both tensors
        message = f"'{name}' is None at first, and not known to be one kind of tile in the later iterations"
        scope.module.report(Refuse(statement, CODE, message, "declare the tile before the loop"))


def report_objects(scope: Scope, loop: ast.For) -> None:
    """Objects that the body changes in place: Beta 1 traced it once, so they changed once; Beta 2 does it each time."""
    for change in _changed_objects(scope, loop):
        message = f"'{change.name}' is changed in place by a loop whose body Beta 1 traced once"
        scope.module.report(Refuse(change.node, CODE, message, "change it before or after the loop"))


def report_untold(scope: Scope, loop: ast.For, targets: set[str], before: Mapping[str, Value]) -> None:
    """A loop of which nothing tells whether Beta 1 traced its body once, where that makes a difference.

    ``before`` are the names in front of the loop, whose body has been rewritten.
    """
    _read, bound = names_used(scope.module.plan.edits, [loop])
    advanced = [n for n in carried_names(loop, scope.outermost) if n in before and n in bound - targets]
    advanced += [change.name for change in _changed_objects(scope, loop)]
    leaves = any(of_kinds(statement, ast.Return, ast.Break, ast.Continue) for statement in loop.body)
    if advanced or leaves:
        what = f"'{advanced[0]}' changes in" if advanced else "a return, break or continue in"
        what += " a loop of which nothing tells whether Beta 1 traced its body once"
        help = "name nl.affine_range, nl.static_range or a list at the loop, each under the condition that chooses it"
        scope.module.report(Refuse(loop.iter, CODE, what, help))


def assume_branches(scope: Scope, statement: ast.If) -> None:
    """A condition on the loop's variable binds a name for what stands behind it: Beta 1 left undefined what that is."""
    for name in undefined_behind(scope, statement):
        taken = f"'{name}' is what the branch binds that '{ast.unparse(statement.test)}' takes in each iteration"
        scope.assume(taken, "Beta 1 traced both branches once, and left the name undefined behind them")
        scope.draft.add(scope.module.plan.staying, statement)


def _changed_objects(scope: Scope, loop: ast.For) -> Iterator[Change]:
    """What the body of a loop changes in place that was there before it, and is no tensor."""
    numbers = {n.id for n in of_kinds(loop.target, ast.Name)}
    numbers |= {around.variable for around in scope.place.loops if counted(scope, around.statement) is not None}
    for change in changes(scope.module, scope.outermost, loop.body):
        known = scope.names.env.get(change.name)
        unknown = type(known) is Value or isinstance(known, Gone)
        tensor = isinstance(known, Hbm | Tile) or (change.stored and (unknown or _holds_tensors(change, known)))
        tensor = tensor or (change.stored and known is None and _binds_tensors(scope, loop, change.name))
        passed_on = change.through and change.name in numbers  # a list holds it
        imported = change.name in scope.module.symbols.imports
        if not (tensor or passed_on or imported or _is_made_inside(loop, change)):
            yield change


def _holds_tensors(change: Change, known: Value | None) -> bool:
    """May what is stored under another name go to a tensor that the object of this name holds?"""
    return change.through and not isinstance(known, Python)


def _binds_tensors(scope: Scope, loop: ast.For, name: str) -> bool:
    """Is a name bound in the body of a loop, on some way at least, and to nothing but tensors that it makes there?"""
    stores, made = _stores_of(loop).get(name, (0, []))
    return stores == len(made) > 0 and all((scope.qualified(call.func) or "").startswith(_NKI) for call in made)


_NKI = ("nl.", "nisa.")


@indexed
def _stores_of(loop: ast.For) -> dict[str, tuple[int, list[ast.Call]]]:
    """How often the body of a loop binds each name, and the calls that it binds it to."""
    counts = Counter(n.id for s in loop.body for n in of_kinds(s, ast.Name) if isinstance(n.ctx, ast.Store))
    bound: dict[str, list[ast.Call]] = {name: [] for name in counts}
    for assign in (a for s in loop.body for a in of_kinds(s, ast.Assign)):
        if isinstance(assign.value, ast.Call) and isinstance(assign.targets[0], ast.Name):
            bound[assign.targets[0].id].append(assign.value)
    return {name: (count, bound[name]) for name, count in counts.items()}


def _is_made_inside(loop: ast.For, change: Change) -> bool:
    """Is an object that the body of a loop changes bound there, on each way to the change, or to where it is named?"""
    if change.name not in bound_in_body(loop):
        return False
    flow = _flow(loop)
    for statement in flow.of_statement:
        parts = [node for part in own_parts(statement) for node in walk(part)]
        reads = change.name in {n.id for n in names_read(statement)}
        is_meant = (reads and change.through) or statement is change.node or change.node in parts
        if is_meant and flow.tree in flow.bindings(statement, change.name)[1]:
            return False
    return True


@indexed
def _flow(loop: ast.For) -> Definitions:
    """What the body of a loop binds: what it has bound nowhere on a way is not bound yet."""
    return definitions(ast.Module(loop.body, []))
