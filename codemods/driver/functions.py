"""A function as a whole: what is known when it is entered, its statements, and what is said when they are walked.

Whether it is walked at all is asked in :mod:`.units`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..analysis.part_arguments import further_parameters
from ..analysis.scope import Scope
from ..expr import algebra
from ..expr.emission import New, Refuse
from ..expr.frames import Analysis
from ..expr.values import Function, Parameters, Python, Value
from ..lower.parameters import kernel_parameters
from ..lower.phi import write_joints
from ..model import KEPT
from ..plan.accumulators import drop_zeros
from ..plan.variants import telling_flags
from ..project.kernel_code import is_moving
from ..project.program import Module
from ..project.reaching_definitions import Definitions, definitions_in, every_statement, names_read
from ..render import vector_sizes
from ..rules import sbuf_manager
from ..rules.kernel_outputs import is_traced
from ..rules.nested_functions import lift
from ..rules.psum_accumulation import groups_of_others, of_enclosing
from ..syntax import codes
from ..syntax.codes import LANGUAGE
from ..syntax.codes import NESTED_FUNCTIONS as LIFT
from ..syntax.node_index import children, of_kinds
from ..syntax.node_index import walk as nodes_below
from ..syntax.nodes import assignment_counts, names_read_by_nested
from ..syntax.source import is_expanded
from .walk import walk_block


def walk(
    module: Module, node: ast.FunctionDef, parameters: Parameters, on_device: bool, outer: Scope | None = None
) -> Analysis:
    """Rewrite one function, in ``outer`` where it stands in another one: what it tells its callers."""
    module.summaries.analyzed[node] = Analysis(parameters, Value())
    decorated = outer.decorated if outer is not None else is_traced(module, node)
    on_device = decorated or on_device or moves_tensors(module, node)
    scope = Scope(module, node, decorated, on_device, outer=outer)
    scope.names.assigned = assignment_counts(node)
    if outer is not None:
        _see_enclosing(scope, outer)
    else:
        scope.names.env, scope.sizes.definitions = dict(module.environment.values), dict(module.environment.definitions)
        scope.names.dtypes = dict(module.environment.dtypes)
    scope.memory.direct = direct_allocation(scope, node) or (outer is not None and outer.memory.direct)
    for name in scope.names.assigned:
        scope.sizes.definitions.pop(name, None)
        scope.names.dtypes.pop(name, None)
        if name in scope.names.env:
            del scope.names.env[name]
    _check_builtins(scope)
    before = module.plan.edits.size()
    vector_sizes.begin(scope)
    kernel_parameters(scope, parameters)
    scope.flags = telling_flags(module, node, parameters)
    _check_signature(module, node)
    walk_block(scope, node.body)
    _lift_unused(scope)
    module.plan.needless.update(scope.summary.dropped)
    _restore_dropped(scope)
    drop_zeros(scope)
    sbuf_manager.place(scope)
    write_joints(scope)
    _drop_emptied(scope)
    if module.plan.edits.size() != before:
        module.touch(scope.outermost)
    further = further_parameters(module, node, parameters) if outer is None else []
    if further:
        module.summaries.handed[node] = module.plan.edits.parameters[node] = further
    analysis = Analysis(parameters, scope.summary.returned, groups_of_others(scope))
    module.summaries.analyzed[node] = analysis
    return analysis


def _see_enclosing(scope: Scope, outer: Scope) -> None:
    """What a nested function knows of the names around it: in all of its calls, for it is written once."""
    changing = {name for name, count in outer.names.assigned.items() if count > 1}
    scope.names.env = {n: of_enclosing(n, v) for n, v in outer.names.env.items()}
    scope.names.env |= {n: Python() for n in changing if type(scope.names.env.get(n)) is Python}
    for known, told in (
        (scope.sizes.definitions, outer.sizes.definitions),
        (scope.names.dtypes, outer.names.dtypes),
        (scope.sizes.itemsizes, outer.sizes.itemsizes),
    ):
        known |= {n: text for n, text in told.items() if not ({n} | algebra.names(text)) & changing}


def moves_tensors(module: Module, node: ast.AST) -> bool:
    """Does code create, load or store tensors, or call instructions, which only code that is traced can?

    What is defined in it is not looked at.
    """
    for child in children(node):
        if isinstance(child, ast.FunctionDef | ast.ClassDef | ast.Lambda):
            continue
        name = module.symbols.host_name(child.func) if isinstance(child, ast.Call) else ""
        if is_moving(name) or moves_tensors(module, child):
            return True
    return False


_WRITTEN_BUILTINS = ("min", "max", "range", "len", "str", "isinstance", "int", "float")


def _check_builtins(scope: Scope) -> None:
    """The rewrite writes calls of these: a function where they mean something else is left alone."""
    for name in _WRITTEN_BUILTINS:
        if not scope.means_builtin(name):
            raise Refuse(scope.function, LANGUAGE, f"'{name}' is not Python's own here", "give it another name")


def _check_signature(module: Module, node: ast.FunctionDef) -> None:
    if is_expanded(node):
        module.plan.applied[LANGUAGE] += 1
        module.plan.edits.signatures.add(node)
    for argument in (node.args.vararg, node.args.kwarg):
        if argument is not None:
            module.report(Refuse(argument, LANGUAGE, "variable arguments of a function", "write the parameters out"))


def direct_allocation(scope: Scope, node: ast.FunctionDef) -> bool:
    """Does a function pin tiles with ``mod_alloc`` or ``alloc``?"""
    for child in nodes_below(node):
        if isinstance(child, ast.Attribute | ast.Name):
            name = scope.qualified(child) or ""
            if name.startswith("ncc.") and name.endswith(("alloc.", ".mod_alloc", ".alloc")):
                return True
    return False


def _restore_dropped(scope: Scope) -> None:
    """Index vectors that a statement we left alone still reads are kept, and what these read; each under a finding."""
    needed = _bindings_read(scope)
    for statement, names in scope.summary.dropped.items():
        used = sorted(names & needed.get(statement, set()))
        if used:
            replaced = scope.module.plan.edits.replaced
            replaced[statement] = [*replaced[statement], New(scope.source.segment(statement))]
            if len(replaced[statement]) == 1:
                del replaced[statement]
            scope.module.plan.kept.add(statement)
            scope.module.report(
                Refuse(
                    statement,
                    codes.INDEX_VECTORS,
                    f"'{used[0]}' is not Beta 2, and {KEPT}",
                    "remove it when that statement is rewritten",
                )
            )


def _drop_emptied(scope: Scope) -> None:
    """A condition goes with all that it decides: index vectors, which are not written any more."""
    edits = scope.module.plan.edits
    replaced, beside = edits.replaced, edits.before.keys() | edits.after.keys()
    for node in reversed(of_kinds(scope.function, ast.If)):  # the inner ones first
        if node.orelse or any(replaced.get(s) != [] or s in beside for s in node.body):
            continue
        text = scope.source.segment(node)
        if (
            text.startswith("if")
            and "#" not in text
            and all(isinstance(part, _READ) for part in nodes_below(node.test))
        ):
            replaced[node] = []


_READ = (
    *(ast.Name, ast.Attribute, ast.Constant, ast.Compare, ast.BoolOp, ast.UnaryOp),
    *(ast.expr_context, ast.cmpop, ast.boolop, ast.unaryop),
)
"""What a condition may be of that only reads."""


def _bindings_read(scope: Scope) -> dict[ast.stmt, set[str]]:
    """The bindings of index vectors that a statement which was left alone may see, and what these read themselves."""
    found = {s: names & scope.captured for s, names in scope.summary.dropped.items() if names & scope.captured}
    pending: list[ast.AST] = [*scope.kept, *found]
    dropped = {name for names in scope.summary.dropped.values() for name in names}
    if not any(read.id in dropped for node in pending for read in of_kinds(node, ast.Name)):
        return found
    flow = definitions_in(scope.function)
    for node in pending:  # it grows
        for binding, name in _seen_by(scope, flow, node):
            if name not in found.setdefault(binding, set()):
                found[binding].add(name)
                pending.append(binding)
    return found


def _seen_by(scope: Scope, flow: Definitions, node: ast.AST) -> Iterator[tuple[ast.stmt, str]]:
    """The bindings that a statement may see, with the names; all bindings of its names for an inner function."""
    if isinstance(node, ast.stmt) and node in flow.of_statement and not isinstance(node, ast.FunctionDef):
        for part in every_statement([node]):
            for name in {read.id for read in names_read(part)}:
                bindings = flow.bindings(part, name)[1]
                yield from ((statement, name) for statement in scope.summary.dropped if statement in bindings)
        return
    read = _names_read(node)
    yield from ((statement, name) for statement, names in scope.summary.dropped.items() for name in names & read)


def _names_read(node: ast.AST) -> set[str]:
    """The names that code reads, or binds for the function around it."""
    outer = {name for n in of_kinds(node, ast.Nonlocal) for name in n.names}
    return outer | {n.id for n in of_kinds(node, ast.Name) if isinstance(n.ctx, ast.Load)}


def _lift_unused(scope: Scope) -> None:
    for function in scope.nested:
        if function.node not in scope.module.plan.lifted:
            refusal = scope.draft.attempt(_lift, scope, function)
            if refusal is not None:
                scope.module.report(refusal)
                scope.kept.append(function.node)


def _lift(scope: Scope, function: Function) -> None:
    _check_only_called(scope, function.node)
    lift(scope, function)


def _check_only_called(scope: Scope, nested: ast.FunctionDef) -> None:
    """A function that is handed on, or returned, cannot carry what it has captured."""
    captured = names_read_by_nested(scope.function)[nested.name] & scope.names.assigned.keys()
    nodes = list(nodes_below(scope.function))
    called = {id(n.func) for n in nodes if isinstance(n, ast.Call)}
    handed = [n for n in nodes if isinstance(n, ast.Name) and n.id == nested.name and id(n) not in called]
    if handed and captured:
        what = f"'{nested.name}' captures '{min(captured)}', and is used otherwise than by calling it"
        raise Refuse(handed[0], LIFT, what, "call it, or pass what it captures")
