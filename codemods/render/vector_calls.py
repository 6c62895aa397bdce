"""Functions and methods of the user's that compute index vectors and masks: what a call gives, told by their bodies.

Beta 2 has no index vectors, so nothing can pass or return them. ``info.rows(i, i_p)``, whose body returns
``i * self.size + i_p``, is taken for ``i * info.size + i_p``. Bodies are followed as far as their statements are
assignments, assertions, and choices that the arguments decide; an assertion that they do not decide stands in front of
the statement that makes the call.
"""

from __future__ import annotations

import ast
import builtins
from typing import TYPE_CHECKING

from nki_migrate.runtime.spec.launchers import KERNEL_DECORATORS

from ..analysis.body_values import ClassItself, Known, Text, Thing, Undecided
from ..analysis.classes import class_named, class_of
from ..expr.emission import New, Refuse
from ..expr.values import Function, Grid, Hbm, Index, Mask, Python, Several, Tile, Value
from ..syntax.node_index import walk
from .bodies import Facts, bound, method_call, result
from .expressions import is_pure, render, render_stable
from .index import CODE, index_value
from .masks import mask_value
from .vector_makers import made_vectors

if TYPE_CHECKING:
    from ..analysis.scope import Scope
    from ..project.program import Module, Program

_PACKAGES = {"nl", "nisa", "ncc", "nccl", "nki", "nt", "np", "math"}
_VECTORS = {"nl.arange", "nl.mgrid"}
Callee = tuple["Module", ast.FunctionDef, list[Value]]


def called(scope: Scope, node: ast.Call) -> Value | None:
    """What a call of the user's code gives when it computes vectors or masks; ``None`` for any other call.

    Raises :class:`Refuse` where a vector goes in and the body does not tell what comes out.
    """
    if is_of_package(scope, node.func) or not _is_current(scope, node):
        return None
    if node not in scope.interpreted:
        callee = callee_of(scope, node)
        scope.interpreted[node] = None  # for what asks again on the way
        scope.interpreted[node] = None if callee is None else _interpreted(scope, node, callee)
    return scope.interpreted[node]


def is_of_package(scope: Scope, node: ast.expr) -> bool:
    """Is it a name of NKI, or of numpy or ``math``, which give no slices, vectors or masks but those that are known?"""
    return (scope.qualified(node) or "").partition(".")[0] in _PACKAGES


def is_unread(scope: Scope, node: ast.Call) -> bool:
    """Is a call one of code that is not at hand, which may give a number as well as an index vector?"""
    if is_of_package(scope, node.func):
        return False
    builtin = isinstance(node.func, ast.Name) and hasattr(builtins, node.func.id)
    return not builtin and callee_of(scope, node) is None


def _is_current(scope: Scope, node: ast.Call) -> bool:
    """Does a call stand in the statement that is being rewritten? What names stand for elsewhere is not known yet."""
    line, current = getattr(node, "lineno", None), scope.place.statement
    return current is None or line is None or current.lineno <= line <= (current.end_lineno or current.lineno)


def callee_of(scope: Scope, node: ast.Call) -> Callee | None:
    """The function or method of the program that a call means, with what it gets before the arguments."""
    if isinstance(node.func, ast.Attribute):
        owner = _owner(scope, node.func.value)
        if owner is not None:
            return method_call(owner, node.func.attr)
    function = scope.evaluator.module_function(scope, node)
    if function is None or isinstance(scope.names.env.get(function.name), Function):
        return None
    home = function.home or scope.module
    plain = all(home.symbols.decorator(d) in KERNEL_DECORATORS for d in function.node.decorator_list)
    return (home, function.node, []) if plain else None


def _owner(scope: Scope, node: ast.expr) -> Value | None:
    """The object, or the class, that a method is called on."""
    cls = class_named(scope.module, node)
    if cls is not None and not (isinstance(node, ast.Name) and node.id in scope.names.env):
        return ClassItself(cls)
    of = class_of(scope, node) if isinstance(node, ast.Name | ast.Attribute) else None
    return Thing(scope.source.segment(node), of) if of is not None else None


def _interpreted(scope: Scope, node: ast.Call, callee: Callee) -> Value | None:
    home, function, first = callee
    takes = any(_is_vector(scope, argument) for argument in [*node.args, *(k.value for k in node.keywords)])
    if not takes and not _makes_vectors(home, function):
        return None
    facts = Facts(scope)
    found = scope.attempt(_followed, facts, node, callee)
    if isinstance(found, Undecided):
        made = None if takes or first else made_vectors(scope, node, home, function)
        if made is not None:
            scope.apply(CODE, node)
            vectors = Several(tuple(vector or Known(0) for vector in made))
            _follow(scope, node, [(home, function, node)], vectors)
            return vectors
        if not takes:
            return None
        message = f"an index vector is passed to '{function.name}', which is not followed: {found}"
        raise Refuse(node, CODE, message, "pass its start and size, or compute with it in the kernel")
    if isinstance(found, Refuse):
        if not takes:
            return None
        raise Refuse(node, found.code, f"{found.message}, in '{function.name}'", found.help, found.applicability)
    _plan(scope, facts)
    scope.apply(CODE, node)
    _follow(scope, node, [(home, function, node), *facts.followed], found)
    return found


def _followed(facts: Facts, node: ast.Call, callee: Callee) -> Value | Undecided:
    """The vectors and masks that a call gives, or why its body does not tell them."""
    home, function, first = callee
    try:
        positional = [*first, *(_given(facts.scope, argument) for argument in node.args)]
        keywords = {k.arg or "": _given(facts.scope, k.value) for k in node.keywords}
        found = result(facts, home, function, bound(function, positional, keywords))
    except Undecided as why:
        return why
    return found if _is_of_vectors(found) else Undecided("what it returns is no vector and no mask")


def _plan(scope: Scope, facts: Facts) -> None:
    """The statements that a followed call needs, and the names that they bind."""
    for text in facts.statements:
        if New(text) not in scope.output.lines:
            scope.output.lines.append(New(text))  # whatever a mask says: Beta 1 ran it, too
    for name in facts.given.values():
        if name.isidentifier():
            scope.names.env[name] = Python()
            scope.names.assigned[name] += 1


def unpacked(scope: Scope, node: ast.Call) -> Several | None:
    """What a call gives to a tuple of names, if that is vectors, masks and numbers one by one."""
    found = called(scope, node)
    if not isinstance(found, Several):
        return None
    for home, function, call in scope.unpacking.pop(node, ()):
        scope.module.program.told(_unneeded, home, function, call)
    return found


def _follow(scope: Scope, node: ast.Call, calls: list[tuple[Module, ast.FunctionDef, ast.Call]], found: Value) -> None:
    """Record which calls need their functions no more. A tuple of vectors must be taken apart before it does not."""
    if isinstance(found, Several):
        scope.unpacking[node] = calls
        return
    for home, function, call in calls:
        scope.module.program.told(_unneeded, home, function, call)


def _unneeded(home: Module, function: ast.FunctionDef, call: ast.Call) -> None:
    home.summaries.followed.setdefault(function, set()).add(call)


def _is_vector(scope: Scope, node: ast.expr) -> bool:
    if isinstance(index_value(scope, node), Index | Grid):
        return True
    mask = mask_value(scope, node)
    return mask is not None and mask.of_vectors


def _is_of_vectors(value: Value) -> bool:
    parts = value.parts if isinstance(value, Several) else (value,)
    return any(isinstance(part, Index | Grid | Mask) for part in parts)


def _makes_vectors(home: Module, function: ast.FunctionDef) -> bool:
    """Does a function make index vectors and return something?"""
    if not any(isinstance(n, ast.Return) and n.value is not None for n in walk(function)):
        return False
    return any(
        isinstance(n, ast.Attribute | ast.Name) and home.symbols.decorator(n) in _VECTORS for n in walk(function)
    )


def _given(scope: Scope, node: ast.expr) -> Value:
    """What an argument is to the body of the function that gets it."""
    if isinstance(node, ast.Starred):
        raise Undecided("it is called with starred arguments")
    found = index_value(scope, node) or mask_value(scope, node)
    if found is not None and not (isinstance(found, Mask) and not found.of_vectors):
        return found
    if isinstance(node, ast.Constant):
        return Known(node.value)
    if isinstance(node, ast.Name | ast.Attribute):
        cls = class_of(scope, node)
        if cls is not None:
            return Thing(scope.source.segment(node), cls)
    value = scope.names.env.get(node.id) if isinstance(node, ast.Name) else None
    if isinstance(value, Hbm) or (isinstance(value, Tile) and not value.blocks and not value.view):
        return Text(render(scope, node))
    if any(isinstance(n, ast.Call) and not is_pure(scope, n) for n in walk(node)):
        raise Undecided("it gets what another call gives")
    return Text(render_stable(scope, node))


def drop_followed(program: Program) -> None:
    """Functions and methods that make vectors go once every call of them was followed: nothing else needs them."""
    for module in program.modules.values():
        for function in [f for f in module.summaries.followed if f not in module.plan.edits.replaced]:
            if _makes_vectors(module, function) and not _is_needed(program, module, function):
                module.plan.edits.replaced[function] = []
                module.touch(function)
                lines = range(function.lineno, (function.end_lineno or function.lineno) + 1)
                module.plan.findings = [f for f in module.plan.findings if f.line not in lines]


def _is_needed(program: Program, home: Module, function: ast.FunctionDef) -> bool:
    """Does anything but the calls that were followed use a function, or may it?"""
    method = function not in home.symbols.functions.values()
    own = set(walk(function))
    if function.decorator_list and not method:
        return True
    for module in program.modules.values():
        kept = {n for s in module.plan.kept if not hasattr(s, "body") for n in walk(s)}
        followed = {c.func for c in home.summaries.followed[function] if c not in kept}
        for node in walk(module.source.tree):
            if node in own or node in followed or not isinstance(node, ast.Name | ast.Attribute | ast.alias):
                continue
            if method:
                named = getattr(node, "attr", "") == function.name
            elif isinstance(node, ast.alias):
                named = module is not home and node.name == function.name and not _goes_alone(module, node)
            else:
                named = program.origin(module, node) == (home.path, function.name)
            if named:
                return True
    return any(isinstance(n, ast.Constant) and n.value == function.name for n in walk(home.source.tree))


def _goes_alone(module: Module, alias: ast.alias) -> bool:
    """Does an import that nothing uses any more go without its function?"""
    return any(i.alias is alias and i.statement in module.source.tree.body for i in module.symbols.import_list)
