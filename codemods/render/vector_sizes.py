"""Index vectors that a name gets with one size here, and with another one there: ``i = nl.arange(n)[:, None]``.

What such a name is behind a branch, or in the next iteration, depends on what ran. Where nothing but the size differs,
the size gets a name of its own, which is bound where the vector was; only names that need it are written so.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from ..analysis.kill import kill
from ..expr.values import Index, Python
from ..syntax.node_index import of_kinds, walk
from ..syntax.nodes import bound_by, is_name
from .index import new_axis

if TYPE_CHECKING:
    from ..analysis.scope import Scope


def ask(scope: Scope, name: str) -> None:
    """Ask for the sizes of ``name`` to have a name in the next attempt, if only they differ."""
    if scope.outer is None and name not in scope.sizes.resized and _differ_in_size(scope, name):
        scope.module.plan.to_resize.add((scope.module.path, scope.function.lineno, name))


def _differ_in_size(scope: Scope, name: str) -> bool:
    """Is a name always bound to ``nl.arange(...)`` of one argument under one subscript, and read by no inner code?"""
    plain = [
        node
        for node in of_kinds(scope.function, ast.Assign)
        if len(node.targets) == 1 and is_name(node.targets[0], name)
    ]
    inner = ast.FunctionDef | ast.Lambda | ast.ListComp | ast.GeneratorExp | ast.DictComp | ast.SetComp
    for node in walk(scope.function):
        nested = isinstance(node, inner) and node is not scope.function
        if nested and any(is_name(n, name) or (isinstance(n, ast.arg) and n.arg == name) for n in walk(node)):
            return False
    forms = {_form(scope, node.value) for node in plain}
    return len(plain) == scope.names.assigned[name] > 1 and len(forms) == 1 and "" not in forms


def _form(scope: Scope, node: ast.expr) -> str:
    """The subscript of ``nl.arange(n)[...]``; empty for anything else."""
    call = node.value if isinstance(node, ast.Subscript) else None
    arange = isinstance(call, ast.Call) and scope.qualified(call.func) == "nl.arange"
    if not arange or not isinstance(call, ast.Call) or len(call.args) != 1 or call.keywords:
        return ""
    assert isinstance(node, ast.Subscript)
    return ast.dump(node.slice)


def begin(scope: Scope) -> None:
    """Name the sizes that an earlier attempt asked for."""
    asked = [
        n
        for path, line, n in scope.module.premises.resized
        if (path, line) == (scope.module.path, scope.function.lineno)
    ]
    for name in sorted(asked) if scope.outer is None else ():
        scope.sizes.resized[name] = scope.fresh(f"{name}_size")
        scope.names.assigned[scope.sizes.resized[name]] = scope.names.assigned[name]


def bound_sizes(scope: Scope, statement: ast.stmt) -> set[str]:
    """The names of sizes that a statement binds."""
    return {scope.sizes.resized[name] for name in bound_by(statement) if name in scope.sizes.resized}


def with_named_size(scope: Scope, name: str, vector: Index) -> Index:
    """Bind the name of the size; the vector has that size from here on."""
    size = scope.sizes.resized[name]
    kill(scope, size)
    (term,) = vector.terms
    scope.emit(f"{size} = {term.axis.size}")
    scope.names.env[size] = Python()
    return replace(vector, terms=(replace(term, axis=new_axis("0", size, name)),))


def restored(scope: Scope, statement: ast.For, name: str) -> None:
    """The size that a vector had before a loop, again at the start of each iteration: Beta 1 traced the body once."""
    size = scope.sizes.resized[name]
    scope.module.plan.edits.keep_over(statement, size, scope.fresh(f"{size}_before_loop"))
