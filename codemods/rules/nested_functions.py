"""NKI003 nested-functions: functions inside a kernel move to module level.

Why: Beta 2 does not support inner function definitions. What the function closed over becomes parameters, which every
call passes by keyword, so it sees the values of that moment, as the closure did. A factory that returns an allocation
function is merged with what it returns.

Safe. Left alone: functions that rebind names outside of themselves, that have decorators or variable arguments, or
that are called with different kinds of tensors.

Source: reference/beta2.md 4.1 (texts of the front end).
"""

from __future__ import annotations

import ast
import builtins
from typing import TYPE_CHECKING

from ..emission import Refuse
from ..facts.values import Function, Value

if TYPE_CHECKING:
    from ..scope import Scope

CODE = "NKI003"
GOLDENS = ("nested_function",)
_HELP = "move the function to module level, and pass what it uses as parameters"


def bound_names(function: ast.FunctionDef) -> set[str]:
    """Names that a function binds: parameters and everything that it assigns."""
    names = {a.arg for a in [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]}
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            names.add(node.id)
        elif isinstance(node, ast.FunctionDef) and node is not function:
            names.add(node.name)
    return names


def free_names(scope: Scope, function: ast.FunctionDef) -> list[str]:
    """Names of the enclosing function that ``function`` reads, in order of their first use."""
    bound = bound_names(function)
    known = set(scope.module.imports) | set(scope.module.functions) | set(dir(builtins)) | scope.module.globals
    found: list[str] = []
    for statement in function.body:
        for node in ast.walk(statement):
            if not isinstance(node, ast.Name) or node.id in bound or node.id in found:
                continue
            if node.id in scope.assigned or node.id not in known:
                found.append(node.id)
    return found


def lift(scope: Scope, function: Function, told: dict[str, Value] | None = None) -> tuple[str, list[str]]:
    """Move a nested function in front of the outermost one. ``told`` are the kinds of its parameters.

    Returns its name and the keyword arguments that carry its closure. Raises :class:`Refuse` for one that rebinds
    names of its enclosing function.
    """
    node = function.node
    module = scope.module
    if node in module.lifted:
        name, closure = module.lifted[node]
        return name, [f"{n}={n}" for n in closure]
    if any(isinstance(n, ast.Nonlocal | ast.Global) for n in ast.walk(node)):
        raise Refuse(node, CODE, f"the nested function '{node.name}' rebinds names outside of it", _HELP)
    if node.args.vararg or node.args.kwarg or node.decorator_list:
        raise Refuse(node, CODE, f"the nested function '{node.name}' has decorators or variable arguments", _HELP)
    scope.apply(CODE, node)
    closure = free_names(scope, node)
    name = node.name if node.name not in module.functions and node.name not in module.globals else ""
    if not name or any(n.name == node.name for n in module.lifted):
        name = module.fresh(node.name)
    module.lifted[node] = (name, closure)
    module.edits.lifted.setdefault(scope.outermost, []).append(node)
    module.edits.parameters[node] = closure
    if name != node.name:
        module.edits.renamed[node] = name
    module.edits.replaced[node] = []
    scope.walk_function(node, told)
    return name, [f"{n}={n}" for n in closure]


def factory_as_function(scope: Scope, call: ast.Call, factory: ast.FunctionDef) -> str:
    """A module-level function that returns a closure, as one function with the parameters of both.

    The closure's body takes the place of ``return closure``: called for each tile, it computes what the closure would
    have. Raises :class:`Refuse` when running the factory's body again for each tile could change something.
    """
    module = scope.module
    if factory in module.flattened:
        return module.flattened[factory]
    inner = next((s for s in factory.body if isinstance(s, ast.FunctionDef)), None)
    last = factory.body[-1]
    plain = inner is not None and isinstance(last, ast.Return) and isinstance(last.value, ast.Name)
    if not plain or inner is None or last.value.id != inner.name:  # type: ignore[attr-defined]
        raise Refuse(call, "NKI013", f"'{factory.name}' does not simply return a closure", "compute address= by hand")
    if any(isinstance(n, ast.Global | ast.Nonlocal) for n in ast.walk(factory)):
        raise Refuse(
            call,
            "NKI013",
            f"'{factory.name}' changes state that outlives it: each call moves the next address",
            "compute the addresses in the kernel, with a counter",
        )
    others = [n for n in ast.walk(module.source.tree) if isinstance(n, ast.Name) and n.id == factory.name]
    allocations = [
        n
        for n in ast.walk(module.source.tree)
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == factory.name
    ]
    if len(others) != len(allocations):
        raise Refuse(
            call, "NKI013", f"'{factory.name}' is used otherwise than by calling it", "compute address= by hand"
        )
    clash = {a.arg for a in factory.args.args} & {a.arg for a in inner.args.args}
    if clash:
        raise Refuse(call, "NKI013", f"'{factory.name}' and its closure share parameter names", "rename them")
    module.flattened[factory] = factory.name
    module.edits.flattened[factory] = inner
    module.touched.add(factory.name)
    return factory.name
