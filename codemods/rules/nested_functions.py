"""NKI003 nested-functions: functions inside a kernel move to module level; one copy for each kind of argument.

Why: Beta 2 does not support inner function definitions. What the function closed over becomes parameters, which every
call passes by keyword, so it sees the values of that moment, as the closure did: of a tile that is bound again between
calls the function knows no more than its own name tells. Where one statement calls a function that closes over names,
and only it names the function, its body stands in place of the call: its names are those of the kernel, with a number
where the kernel has them. A factory that returns an allocation function is merged with what it returns.

A function of the module that is called with different kinds of tensors (a number here and a tile there, SBUF and PSUM,
tensors with and without blocks, of several ranks, one row and many) gets one copy for each kind, because the
instructions depend on it; each call goes to its own, and kinds whose copies are written alike share one. Where a flag
(``True`` or ``False``) tells copies apart, what it excludes is an assertion in each of them. A function that takes
parts of a part of a tensor gets the tensor, and where the part lies, as further parameters: Beta 2 cannot index a part
again.

A kernel in a function of the host stays there, because Beta 2 reads it by its source, but only where it uses no name of
that function: Beta 2 looks names up in the module. One that does becomes a function of the module. Sizes become
parameters, which its launches pass; index vectors, functions and the arrays of ``nl.shared_constant`` go with it. What
is returned of it, or handed on, becomes a ``functools.partial``. That is *review*, because a partial can be called, and
not launched on a grid (which cannot fail to be noticed).

Safe. Left alone: functions that rebind names outside of themselves, that have decorators or variable arguments,
nested functions that are called with different kinds of tensors, and calls beyond the eighth copy.

Source: the front end of leanprover/KLR ("NKI does not support inner function definitions").
"""

from __future__ import annotations

import ast
import builtins
from typing import TYPE_CHECKING

from ..analysis.name_views import parameter_value
from ..expr.emission import Refuse
from ..expr.values import DType, Function, Python, Tile, Value
from ..project.program import Module
from ..project.usage import names_used
from ..syntax import codes
from ..syntax.node_index import of_kinds, walk
from ..syntax.nodes import default_values, named_parameters

if TYPE_CHECKING:
    from ..analysis.scope import Scope

CODE = codes.NESTED_FUNCTIONS
GOLDENS = ("nested_function", "step_in_place", "helper_variants", "kernel_factory")
_HELP = "move the function to module level, and pass what it uses as parameters"


def bound_names(function: ast.FunctionDef) -> set[str]:
    """Names that a function binds: parameters and everything that it assigns."""
    names = {a.arg for a in named_parameters(function)}
    for node in walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            names.add(node.id)
        elif isinstance(node, ast.FunctionDef) and node is not function:
            names.add(node.name)
    return names


def _closure(scope: Scope, function: ast.FunctionDef) -> list[str]:
    """Names of the enclosing function that the rewritten ``function`` reads, in the order of the source."""
    read, stored = names_used(scope.module.plan.edits, [function])
    bound = bound_names(function) | stored
    module = scope.module
    known = (
        set(module.symbols.imports)
        | set(module.symbols.functions)
        | set(dir(builtins))
        | module.symbols.globals
        | set(module.names.support)
    )
    known |= set(module.names.needed_imports.values()) | {name for name, _ in module.plan.lifted.values()}
    around, outer = {*scope.names.assigned}, scope.outer
    while outer is not None:
        around, outer = around | {*outer.names.assigned}, outer.outer
    free = {name for name in read - bound if name in around or name not in known}
    order = {n.id: (n.lineno, n.col_offset) for n in reversed(list(walk(function))) if isinstance(n, ast.Name)}
    return sorted(free, key=lambda name: (order.get(name, (10**9, 0)), name))


def lift(scope: Scope, function: Function, told: dict[str, Value] | None = None) -> tuple[str, list[str]]:
    """Move a nested function in front of the outermost one. ``told`` are the kinds of its parameters.

    Returns its name and the keyword arguments that carry its closure. Raises :class:`Refuse` for one that rebinds
    names of its enclosing function.
    """
    node = function.node
    module = scope.module
    if node in module.plan.lifting:
        raise Refuse(node, CODE, f"the nested function '{node.name}' calls itself", _HELP)
    if node in module.plan.lifted:
        name, closure = module.plan.lifted[node]
        _check_closure(scope, function, closure)
        return name, [f"{n}={n}" for n in closure]
    _check_form(scope, node)
    scope.apply(CODE, node)
    name = module.program.told(_name_of, module, node)
    module.plan.lifted[node] = (name, [])
    module.plan.edits.lifted.setdefault(scope.outermost, []).append(node)
    if name != node.name:
        module.plan.edits.renamed[node] = name
    module.plan.edits.replaced[node] = []
    module.plan.lifting.add(node)
    bound_again = _bound_again(scope, function)
    known = {n: scope.names.env[n] for n in bound_again}
    scope.names.env |= bound_again
    scope.walk_within(node, told)
    scope.names.env |= known
    module.plan.lifting.discard(node)
    closure = _closure(scope, node)
    module.plan.lifted[node] = (name, closure)
    module.plan.edits.parameters[node] = closure
    scope.captured.update(closure)
    read = {n.id for n in of_kinds(node, ast.Name)} - bound_names(node)
    seen = {**scope.names.env, **bound_again}
    module.plan.captured[node] = {name: seen[name] for name in sorted(read) if name in seen}
    _check_closure(scope, function, closure)
    return name, [f"{n}={n}" for n in closure]


def _name_of(module: Module, nested: ast.FunctionDef) -> str:
    """The name of a nested function at the level of the module: its own, where nothing there has it."""
    taken = {*module.symbols.functions, *module.symbols.globals, *(each.name for each in module.names.lifted)}
    name = module.fresh(nested.name) if nested.name in taken else nested.name
    module.names.lifted[nested] = name
    return name


def _bound_again(scope: Scope, function: Function) -> dict[str, Value]:
    """What the function sees of tiles that are bound again before a later call: no more than their own names tell.

    Each call passes the tile of that moment, as to any function; what writes to a tile of its enclosing function does
    so under the name that this one had.
    """
    at, node = scope.place.statement, function.node
    if at is None:
        return {}
    uses = of_kinds(scope.function, ast.Name)
    last = max((n.lineno for n in uses if n.id == node.name), default=0)
    rebound = {n.id for n in uses if isinstance(n.ctx, ast.Store) and at.lineno <= n.lineno < last}
    names = (rebound & {n.id for n in of_kinds(node, ast.Name)}) - bound_names(node) - _written_to(node)
    tiles = {name: scope.names.env[name] for name in names if name in scope.names.env}
    plain = {name: tile for name, tile in tiles.items() if isinstance(tile, Tile) and _is_plain(tile)}
    return {name: parameter_value(name, tile) for name, tile in plain.items()}


def _is_plain(tile: Tile) -> bool:
    """Is it a whole tile in SBUF, of which a function that gets it must know nothing besides?"""
    return tile.space == "sbuf" and not (tile.blocks or tile.view or tile.listed or tile.optional)


def _written_to(function: ast.FunctionDef) -> set[str]:
    """The names of which a function writes a part."""
    written = [n for n in of_kinds(function, ast.Subscript) if isinstance(n.ctx, ast.Store)]
    return {name.id for part in written for name in of_kinds(part.value, ast.Name)}


def _check_form(scope: Scope, node: ast.FunctionDef) -> None:
    """A nested function can be moved where its form says nothing of the place in which it stands."""
    if any(isinstance(n, ast.Nonlocal | ast.Global) for n in walk(node)):
        raise Refuse(node, CODE, f"the nested function '{node.name}' rebinds names outside of it", _HELP)
    if node.args.vararg or node.args.kwarg or node.decorator_list:
        raise Refuse(node, CODE, f"the nested function '{node.name}' has decorators or variable arguments", _HELP)
    local = {n.id for d in default_values(node).values() for n in of_kinds(d, ast.Name)}
    if local & set(scope.names.assigned):
        raise Refuse(node, CODE, f"a default of '{node.name}' reads a name of the enclosing function", _HELP)


def _check_closure(scope: Scope, function: Function, closure: list[str]) -> None:
    """Every call must find what the first one found: the function is written once."""
    for name, value in scope.module.plan.captured.get(function.node, {}).items():
        now = scope.names.env.get(name)
        moved = getattr(now, "origin", None) != getattr(value, "origin", None)  # another part of a tensor
        is_number = isinstance(value, Python | DType) and isinstance(now, Python | DType)
        is_alike = isinstance(now, Tile) and _is_plain(now) and parameter_value(name, now) == value
        if (now != value or moved) and not is_number and not is_alike:
            message = f"'{function.name}' uses '{name}', which changes between its calls"
            raise Refuse(scope.place.statement or function.node, CODE, message, _HELP)
    for name in closure:
        if name in scope.names.assigned and name not in scope.names.env:
            raise Refuse(function.node, CODE, f"'{function.name}' uses '{name}', which is assigned later", _HELP)


def factory_as_function(scope: Scope, call: ast.Call, factory: ast.FunctionDef) -> str:
    """A module-level function that returns a closure, as one function with the parameters of both.

    The closure's body takes the place of ``return closure``: called for each tile, it computes what the closure would
    have. Raises :class:`Refuse` when running the factory's body again for each tile could change something.
    """
    module = scope.module
    module.program.share()
    if factory in module.summaries.flattened:
        return module.summaries.flattened[factory]
    inner = next((s for s in factory.body if isinstance(s, ast.FunctionDef)), None)
    last = factory.body[-1]
    plain = inner is not None and isinstance(last, ast.Return) and isinstance(last.value, ast.Name)
    if not plain or inner is None or last.value.id != inner.name:  # type: ignore[attr-defined]  # plain: a name
        raise Refuse(
            call, codes.ALLOC_FUNCTION, f"'{factory.name}' does not simply return a closure", "compute address= by hand"
        )
    if any(isinstance(n, ast.Global | ast.Nonlocal) for n in walk(factory)):
        raise Refuse(
            call,
            codes.ALLOC_FUNCTION,
            f"'{factory.name}' changes state that outlives it: each call moves the next address",
            "compute the addresses in the kernel, with a counter",
        )
    if not _is_only_called(module, factory):
        raise Refuse(
            call,
            codes.ALLOC_FUNCTION,
            f"'{factory.name}' is used otherwise than by calling it",
            "compute address= by hand",
        )
    clash = {a.arg for a in factory.args.args} & {a.arg for a in inner.args.args}
    if clash:
        raise Refuse(
            call, codes.ALLOC_FUNCTION, f"'{factory.name}' and its closure share parameter names", "rename them"
        )
    module.summaries.flattened[factory] = factory.name
    module.plan.edits.flattened[factory] = inner
    module.plan.touched.add(factory.name)
    return factory.name


def _is_only_called(module: Module, function: ast.FunctionDef) -> bool:
    """Is a function's name used for nothing but calls of it, and in its own file only?"""
    names = [n for n in of_kinds(module.source.tree, ast.Name) if n.id == function.name]
    calls = [n.func for n in of_kinds(module.source.tree, ast.Call)]
    called = [n for n in calls if isinstance(n, ast.Name) and n.id == function.name]
    return len(names) == len(called) and not any(module.program.users(module, function.name))
