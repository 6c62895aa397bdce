"""Statements: each one is rewritten as a whole, or left as it was with a finding."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Set
from dataclasses import replace

from ..analysis.joins import merged
from ..analysis.kill import forget_formulas, kill, place_of
from ..analysis.maybe_tensors import may_be_no_number
from ..analysis.name_views import described
from ..analysis.scope import Scope
from ..analysis.traced_loops import Tracing, tracing
from ..analysis.unit_loops import RANGES, bound_in_body
from ..expr import algebra
from ..expr.emission import New, Refuse
from ..expr.frames import Loop, Side
from ..expr.operands import Operand
from ..expr.values import EARLIER, Flag, Function, Hbm, Keyed, Python, Tile, Value
from ..lower.alternatives import either_origin, either_predicate
from ..lower.api_arguments import check_arguments
from ..lower.assign import assign
from ..lower.calls import call_statement, list_both
from ..lower.comprehensions import expand
from ..lower.lost_bindings import left_tile
from ..lower.nested_imports import move_import
from ..lower.phi import join_places
from ..lower.stores import augment
from ..plan.absences import known_absences
from ..plan.branched_choices import may_help
from ..plan.loop_invariants import close
from ..project.draft import Draft
from ..render.expressions import CALLABLE, beta2_name, render
from ..render.iteration import BOX, element_kinds, index_loop, index_of_box, tile_of, unpack
from ..render.named_sizes import sizes_behind
from ..render.number_keys import bind_keys
from ..render.path_conditions import recall, remember
from ..render.sizes import asserted_sizes
from ..render.truths import truth_text
from ..render.vector_sizes import bound_sizes
from ..rules import dynamic_loops
from ..rules.loop_state import (
    assume_branches,
    check_same_tensor,
    drop_needless,
    forget_carried,
    none_at_first,
    report_objects,
    report_untold,
    restore_state,
)
from ..syntax.codes import LANGUAGE
from ..syntax.language_subset import FORBIDDEN_EXPRESSIONS, FORBIDDEN_STATEMENTS
from ..syntax.node_index import of_kinds, walk
from ..syntax.nodes import SIMPLE, bound_by
from ..syntax.same_form import form
from ..syntax.source import written
from .exits import leave_body, leave_function, stop


def walk_block(scope: Scope, body: list[ast.stmt]) -> None:
    sizes, outer = dict(scope.sizes.named), scope.place.blocks
    scope.draft.keep()
    scope.place.blocks = (*outer, body)
    for statement in body:
        walk_statement(scope, statement)
    scope.sizes.named, scope.place.blocks = sizes_behind(scope, sizes), outer


def walk_statement(scope: Scope, statement: ast.stmt) -> None:
    """Rewrite a statement on a draft: what is refused leaves nothing behind but its findings."""
    program = scope.module.program
    around, program.draft = program.draft, Draft()
    try:
        _walk_statement(scope, statement)
    finally:
        program.draft = around


def _walk_statement(scope: Scope, statement: ast.stmt) -> None:
    if isinstance(statement, SIMPLE):
        forget_formulas(scope, bound_by(statement))
    known, sizes = scope.facts() if isinstance(statement, SIMPLE) else None, dict(scope.sizes.named)
    scope.output.lines = []
    scope.output.called, scope.output.given = {}, {}
    scope.place.statement = statement
    if written(statement) == "":
        scope.apply(LANGUAGE, statement)
        scope.module.plan.edits.replaced[statement] = []
        return
    refusal = scope.draft.attempt(_rewrite, scope, statement)
    if refusal is None and isinstance(statement, SIMPLE):
        scope.names.lost = {name: block for name, block in scope.names.lost.items() if name not in bound_by(statement)}
    if refusal is not None:
        scope.sizes.named, scope.output.lines = sizes, []
        if known is not None:
            scope.restore(known)
        _leave_alone(scope, statement, refusal)
    for name in sorted(bound_by(statement)):
        kill(scope, name)


def _rewrite(scope: Scope, statement: ast.stmt) -> None:
    """Raises :class:`Refuse` for a statement that cannot be rewritten."""
    if statement in scope.module.premises.lost_writes:
        raise scope.module.premises.lost_writes[statement]
    if type(statement) in FORBIDDEN_STATEMENTS and not isinstance(statement, ast.With):
        what, help = FORBIDDEN_STATEMENTS[type(statement)]
        raise Refuse(statement, LANGUAGE, f"Beta 2 kernels cannot contain {what}", help)
    check_arguments(scope, statement)
    table = bind_keys(scope, statement)
    handler = _HANDLERS.get(type(statement))
    if expand(scope, statement):
        scope.draft.put(scope.module.plan.edits.replaced, statement, scope.output.lines)
    elif handler is not None:
        handler(scope, statement)
    if table:
        scope.names.env[table] = Keyed()


def _leave_alone(scope: Scope, statement: ast.stmt, refusal: Refuse) -> None:
    """Report why a statement stays as it is; what it binds is what Beta 1 makes of it."""
    scope.module.report(refusal)
    scope.kept.append(statement)
    scope.module.plan.kept.add(statement)
    if may_help(statement, refusal):
        scope.module.plan.choices.add(statement)
    scope.names.lost = {**scope.names.lost, **dict.fromkeys(bound_by(statement), scope.block)}
    if isinstance(statement, SIMPLE) and scope.source.is_changed(statement):
        scope.module.plan.edits.replaced[statement] = [New(scope.source.segment(statement))]
    _list_instead(scope, statement, refusal)
    bound = Python() if _stays_python(scope, statement) else left_tile(scope, statement, refusal)
    scope.names.env |= dict.fromkeys(bound_by(statement), bound)


def _list_instead(scope: Scope, statement: ast.stmt, refusal: Refuse) -> None:
    """A statement was left alone: were the tensors that it uses lists, it might not be."""
    if scope.module.options.blocks != "auto":
        return
    for node in walk(statement):
        value = scope.names.env.get(node.id) if isinstance(node, ast.Name) else None
        if isinstance(value, Tile) and value.style != "list" and value.declaration is not None:
            declared = value.declaration.node
            assert isinstance(declared, ast.expr)
            scope.module.plan.blocked[scope.module.position(declared)] = (
                f"line {statement.lineno} is left alone ({refusal.message})"
            )


_SCALAR_CALLS = {"nl.program_id", "nl.num_programs", "nl.program_ndim"}


def _stays_python(scope: Scope, statement: ast.stmt) -> bool:
    """Does an assignment that was left alone bind numbers: program identities, computations of numpy?"""
    if not isinstance(statement, ast.Assign):
        return False
    for node in walk(statement.value):
        if isinstance(node, ast.Call) and not _makes_number(scope, node):
            return False
        if isinstance(node, ast.Name) and not isinstance(scope.names.env.get(node.id), Python | None):
            return False
        if isinstance(node, (*FORBIDDEN_EXPRESSIONS, ast.List, ast.Dict, ast.Tuple)):
            return False
    return True


def _makes_number(scope: Scope, call: ast.Call) -> bool:
    name = scope.qualified(call.func) or ""
    builtin = isinstance(call.func, ast.Name) and call.func.id in ("int", "float", "min", "max", "len", "abs")
    return builtin or name in _SCALAR_CALLS or name.startswith("np.")


def _simple(rewrite: Callable[[Scope, ast.stmt], None]) -> Callable[[Scope, ast.stmt], None]:
    """A handler of a simple statement: what it emits replaces the statement, unless it says the same."""

    def handler(scope: Scope, statement: ast.stmt) -> None:
        rewrite(scope, statement)
        edits, text = scope.module.plan.edits, scope.source.segment(statement)
        if (
            not scope.output.lines
            or scope.source.is_changed(statement)
            or not _says(scope.output.lines[-1], statement, text)
        ):
            scope.draft.put(edits.replaced, statement, scope.output.lines)
        elif scope.output.lines[:-1]:
            scope.draft.put(edits.before, statement, [*edits.before.get(statement, []), *scope.output.lines[:-1]])

    return handler


def _says(new: New, statement: ast.stmt, text: str) -> bool:
    """Does a new statement say what the old one does, perhaps on other lines, or with its keywords in another order?"""
    if new.guard or (_bare(new.text) != _bare(text) and _head(new.text) != _head(text)):
        return False
    return new.text == text or form(ast.parse(new.text).body[0]) == form(statement)


def _bare(text: str) -> str:
    """A text without all that may stand differently around the same expressions."""
    return "".join(character for character in text if character not in " \n\t\\(),")


def _head(text: str) -> str:
    """The bare text up to the first bracket."""
    return _bare(text.partition("(")[0])


def _expression(scope: Scope, statement: ast.stmt) -> None:
    assert isinstance(statement, ast.Expr)
    if isinstance(statement.value, ast.Constant) and statement.value.value is Ellipsis:
        scope.apply(LANGUAGE, statement)
    elif isinstance(statement.value, ast.Constant):
        scope.emit(scope.source.segment(statement))
    elif isinstance(statement.value, ast.Call):
        call_statement(scope, statement.value)
    else:
        scope.emit(render(scope, statement.value))


def _assert(scope: Scope, statement: ast.stmt) -> None:
    assert isinstance(statement, ast.Assert)
    message = f", {render(scope, statement.msg)}" if statement.msg is not None else ""
    test = render(scope, statement.test)
    scope.emit(f"assert {test}{message}")
    parts = statement.test.values if isinstance(statement.test, ast.BoolOp) else [statement.test]
    if isinstance(statement.test, ast.BoolOp) and isinstance(statement.test.op, ast.Or):
        return
    for part in parts:
        asserted_sizes(scope, part)


def _for(scope: Scope, statement: ast.stmt) -> None:
    assert isinstance(statement, ast.For)
    dynamic = dynamic_loops.is_dynamic(scope, statement)
    passes = tracing(scope, statement.iter)
    if dynamic:
        dynamic_loops.rewrite(scope, statement)
    else:
        _write_iterable(scope, statement)
    traced = dynamic or passes is Tracing.ONCE
    if statement.orelse:
        raise Refuse(statement, LANGUAGE, "for ... else", "Beta 2 has no else on loops")
    targets = {n.id for n in of_kinds(statement.target, ast.Name)}
    assigned = bound_in_body(statement)
    stale = targets | assigned | bound_sizes(scope, statement)
    scope.sizes.named = {t: size for t, size in scope.sizes.named.items() if size not in stale}
    for name in sorted(stale):
        kill(scope, name)
    forget_formulas(scope, stale)
    before = _bound_before(scope)
    if traced:
        scope.summary.traced_once.add(statement)
        scope.module.plan.traced_once.add(statement)
        restore_state(scope, statement, targets)
        report_objects(scope, statement)
    heads = {} if traced else forget_carried(scope, statement)
    indexed = statement.target in scope.module.plan.edits.expressions
    element = Value() if may_be_no_number(scope, statement.iter) else Python()
    variables: dict[str, Value] = dict.fromkeys(targets, dynamic_loops.INDEX if dynamic else element)
    variables |= tile_of(scope, statement.target, statement.iter)
    scope.names.env.update(element_kinds(scope, statement) if indexed else variables)
    if not indexed:
        unpack(scope, statement)
    variable = statement.target.id if isinstance(statement.target, ast.Name) else ""
    _walk_body(scope, Loop(variable, statement, traced, dynamic), heads)
    drop_needless(scope, statement)
    if passes is Tracing.UNKNOWN:
        report_untold(scope, statement, targets, before)
    forget_formulas(scope, stale)
    for name in assigned:
        if name in before:
            scope.names.env[name] = merged(name, before[name], scope.names.env.get(name))
        elif name in scope.names.env:
            scope.names.env[name] = _apart_from(scope, scope.names.env[name], stale | _bound_around(scope))


def _walk_body(scope: Scope, loop: Loop, heads: Mapping[str, Value]) -> None:
    """Rewrite the body of a loop, at whose head the names that it carries are ``heads``."""
    loops = scope.place.loops
    scope.place.loops = (*loops, loop)
    walk_block(scope, loop.statement.body)
    scope.place.loops = loops
    close(scope, loop, heads)


def _bound_before(scope: Scope) -> dict[str, Value]:
    """What names are in front of a loop, but for those that an earlier iteration of one around it alone has bound."""
    return {name: value for name, value in scope.names.env.items() if value is not EARLIER}


def _bound_beside(side: dict[str, Value], other: dict[str, Value]) -> dict[str, Value]:
    """What names are on one side of an ``if``, but for those that the ``other`` one alone binds in this iteration."""
    return {name: value for name, value in side.items() if value is not EARLIER or other.get(name) is EARLIER}


def _bound_around(scope: Scope) -> set[str]:
    """Names that the loops around a statement bind."""
    outermost = scope.place.loops[0].statement if scope.place.loops else None
    return {*bound_by(outermost), *bound_sizes(scope, outermost)} if outermost is not None else set()


def _apart_from(scope: Scope, value: Value, bound: Set[str]) -> Value:
    """A part of a tensor that may be that of an earlier iteration, where the names ``bound`` meant something else."""
    origin = getattr(value, "origin", None)
    bound = bound | {place for name in bound for place in scope.names.joined.get(name, set())}
    if isinstance(origin, Operand) and bound & {n for text in place_of(origin) for n in algebra.names(text)}:
        return replace(value, origin=None)  # type: ignore[call-arg]  # a tensor
    return value


def _write_iterable(scope: Scope, statement: ast.For) -> None:
    """Write the loop's iterable for Beta 2."""
    call = statement.iter
    name = scope.qualified(call.func) if isinstance(call, ast.Call) else None
    if name in RANGES and isinstance(call, ast.Call):
        text = ", ".join(render(scope, argument) for argument in call.args)
        _header_text(scope, call, f"{beta2_name(scope, call.func)}({text})")
        return
    if name == BOX and isinstance(call, ast.Call):
        index_of_box(scope, statement, call)
        return
    builtin = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "range"
    if isinstance(call, ast.Call) and not builtin and name not in CALLABLE:
        function = call.func.id if isinstance(call.func, ast.Name) else ""
        if function in ("zip", "enumerate"):
            index_loop(scope, statement, call)
            return
        if function in ("reversed", "map", "filter") or (function == "sorted" and call.keywords):
            raise Refuse(call, LANGUAGE, f"a loop over {function}(...)", "loop over range(...) and index")
    _header_text(scope, call, render(scope, call))


def _header_text(scope: Scope, node: ast.expr, text: str) -> None:
    if text != scope.source.segment(node) or scope.source.is_changed(node):
        scope.module.plan.edits.expressions[node] = text


def _test(scope: Scope, test: ast.expr) -> None:
    """Write a condition for Beta 2; one that cannot be is reported, and what stands under it is still rewritten."""
    text = scope.draft.attempt(lambda: truth_text(scope, test) or render(scope, test))
    if isinstance(text, Refuse):
        scope.module.report(text)
        text = scope.source.segment(test)
    _header_text(scope, test, text)


def _if(scope: Scope, statement: ast.stmt) -> None:
    assert isinstance(statement, ast.If)
    forget_formulas(scope, bound_by(statement.test))
    _test(scope, statement.test)
    known = _known(scope, statement.test)
    if known is not None:
        _one_side(scope, statement, known)
        return
    assume_branches(scope, statement)
    before, branch, formulas = dict(scope.names.env), scope.place.branch, scope.sizes.formulas
    side = Side.of(statement, len(scope.place.loops))
    branches = [(side, statement.body), (side.other, statement.orelse)]
    name, holds = none_at_first(scope, statement.test) or ("", True)
    if not holds:
        branches.reverse()
    told = dict(zip((side, side.other), known_absences(scope, statement), strict=True))
    scope.place.branch = (*branch, branches[0][0])
    scope.names.env.update(told[branches[0][0]] or {})
    recall(scope, statement.test if holds else None)
    walk_block(scope, branches[0][1])
    first, scope.names.env = scope.names.env, dict(before)
    first_formulas, scope.sizes.formulas = scope.sizes.formulas, formulas
    left = first.get(name)
    if isinstance(left, Hbm | Tile):
        scope.names.env[name] = described(name, left)  # what the first iteration leaves for those after it
    scope.place.branch = (*branch, branches[1][0])
    scope.names.env.update(told[branches[1][0]] or {})
    recall(scope, None if holds else statement.test)
    walk_block(scope, branches[1][1])
    scope.sizes.formulas = dict(scope.sizes.formulas.items() & first_formulas.items())
    scope.place.branch = branch
    if name:
        check_same_tensor(scope, statement, name, left, scope.names.env.get(name))
    if None in told.values():  # one of the two never runs
        second_runs = told[branches[1][0]] is not None
        scope.names.env = {**first, **scope.names.env} if second_runs else {**scope.names.env, **first}
        return
    _join(scope, statement, first, holds)


def _join(scope: Scope, statement: ast.If, first: dict[str, Value], holds: bool) -> None:
    """What names are after both sides of an ``if``; ``first`` is after the side walked first, on which the test
    ``holds``, and the scope is after the other one."""
    first, scope.names.env = _bound_beside(first, scope.names.env), _bound_beside(scope.names.env, first)
    then, other = (first, scope.names.env) if holds else (scope.names.env, first)
    test = statement.test
    for n in sorted({*first, *scope.names.env}):
        list_both(scope, first.get(n), scope.names.env.get(n))
    both = {n: merged(n, first.get(n), scope.names.env.get(n)) for n in sorted({*first, *scope.names.env})}
    around = _bound_around(scope)
    both = {
        n: value if n in first and n in scope.names.env else _apart_from(scope, value, around)
        for n, value in both.items()
    }
    for name, value in both.items():
        sides = then.get(name), other.get(name)
        both[name] = either_predicate(scope, test, *sides, either_origin(scope, test, *sides, value))
    scope.names.env = both
    join_places(scope, statement, then, other)
    remember(scope, statement.test, then)


def _known(scope: Scope, test: ast.expr) -> bool | None:
    """What a condition on a flag is in this variant of the function."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _known(scope, test.operand)
        return None if inner is None else not inner
    flag = isinstance(test, ast.Name) and isinstance(scope.names.env.get(test.id), Flag)
    return scope.flags.get(test.id) if flag and isinstance(test, ast.Name) else None


def _one_side(scope: Scope, statement: ast.If, known: bool) -> None:
    """Rewrite the side of a condition that this variant runs; the other one cannot be reached."""
    walk_block(scope, statement.body if known else statement.orelse)
    name = ast.unparse(statement.test)
    if not known or statement.orelse:
        new = New(f'assert False, "written for {name} = {known}"')
        scope.module.plan.edits.dead[statement] = ("orelse" if known else "body", new)


def _while(scope: Scope, statement: ast.stmt) -> None:
    assert isinstance(statement, ast.While)
    if statement.orelse:
        raise Refuse(statement, LANGUAGE, "while ... else", "Beta 2 has no else on loops")
    _test(scope, statement.test)
    stale = bound_by(statement) | bound_sizes(scope, statement)
    for name in sorted(stale):
        kill(scope, name)
    forget_formulas(scope, stale)
    heads = forget_carried(scope, statement)
    before, branch = _bound_before(scope), scope.place.branch
    scope.place.branch = (*branch, Side.of(statement, len(scope.place.loops)))
    _walk_body(scope, Loop("", statement, False), heads)
    scope.place.branch = branch
    scope.names.env = {
        name: merged(name, before.get(name), scope.names.env.get(name)) for name in sorted({*before, *scope.names.env})
    }
    forget_formulas(scope, stale)
    stale = stale | _bound_around(scope)
    scope.names.env = {
        n: value if n in before else _apart_from(scope, value, stale) for n, value in scope.names.env.items()
    }


def _with(scope: Scope, statement: ast.stmt) -> None:
    """A ``with`` is a finding. What it holds is rewritten, as if it might run again and again."""
    assert isinstance(statement, ast.With)
    what, help = FORBIDDEN_STATEMENTS[ast.With]
    scope.module.report(Refuse(statement, LANGUAGE, f"Beta 2 kernels cannot contain {what}", help))
    scope.kept += [item.context_expr for item in statement.items]
    for name in sorted(bound_by(statement)):
        kill(scope, name)
    forget_formulas(scope, bound_by(statement))
    forget_carried(scope, statement)
    given = [item.optional_vars for item in statement.items if item.optional_vars is not None]
    scope.names.env.update({n.id: Value() for target in given for n in of_kinds(target, ast.Name)})
    before, branch, loops = _bound_before(scope), scope.place.branch, scope.place.loops
    scope.place.branch = (*branch, Side.of(statement, len(scope.place.loops)))
    _walk_body(scope, Loop("", statement, bool(loops) and loops[-1].traced_once), {})
    scope.place.branch = branch
    forget_formulas(scope, bound_by(statement))
    scope.names.env = {
        name: merged(name, before.get(name), scope.names.env.get(name)) for name in sorted({*before, *scope.names.env})
    }


def _nested_function(scope: Scope, statement: ast.stmt) -> None:
    """A nested function is lifted when it is first used: only its calls tell what its parameters are."""
    assert isinstance(statement, ast.FunctionDef)
    function = Function(statement, statement.name)
    scope.names.env[statement.name] = function
    scope.nested.append(function)


_HANDLERS: dict[type[ast.stmt], Callable[[Scope, ast.stmt], None]] = {
    ast.Expr: _simple(_expression),
    ast.Assign: _simple(assign),
    ast.AnnAssign: _simple(assign),
    ast.AugAssign: _simple(augment),
    ast.Assert: _simple(_assert),
    ast.Return: _simple(leave_function),
    ast.For: _for,
    ast.If: _if,
    ast.While: _while,
    ast.With: _with,
    ast.Raise: _simple(stop),
    ast.Import: _simple(move_import),
    ast.ImportFrom: _simple(move_import),
    ast.Break: leave_body,
    ast.Continue: leave_body,
    ast.FunctionDef: _nested_function,
}
