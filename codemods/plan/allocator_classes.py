"""Classes whose objects hand out ``sbuf.mod_alloc(...)``: the class behind a call, and the tiles that it hands out."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..analysis.scope import Scope
from ..expr.emission import Refuse
from ..render.expressions import render
from ..syntax import codes
from ..syntax.node_index import of_kinds
from ..syntax.nodes import default_values, uses_by_name

if TYPE_CHECKING:
    from ..project.program import Module


def class_of(module: Module, node: ast.expr) -> tuple[ast.ClassDef, ast.FunctionDef] | None:
    """The class and the method behind ``objects.allocate(...)``, where the module makes ``objects``."""
    function = node.func if isinstance(node, ast.Call) else None
    if not isinstance(function, ast.Attribute) or not isinstance(function.value, ast.Name):
        return None
    name = _constructor(module, function.value.id)
    cls = module.symbols.classes.get(name)
    methods = [s for s in cls.body if isinstance(s, ast.FunctionDef) and s.name == function.attr] if cls else []
    return (cls, methods[0]) if cls is not None and len(methods) == 1 else None


def _constructor(module: Module, name: str) -> str:
    """The name that is called for what ``name`` of the module is, which one assignment binds; nothing otherwise."""
    made = [s for s in module.source.tree.body if _assigns(s, name)]
    stored = [n for n in uses_by_name(module.source.tree).get(name, []) if not isinstance(n.ctx, ast.Load)]
    if len(made) != 1 or len(stored) != 1 or not isinstance(made[0], ast.Assign):
        return ""
    value = made[0].value
    return value.func.id if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) else ""


def _assigns(statement: ast.stmt, name: str) -> bool:
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    target = statement.targets[0]
    return isinstance(target, ast.Name) and target.id == name


def global_of(module: Module, name: str) -> ast.stmt:
    return next(s for s in module.source.tree.body if _assigns(s, name))


def returned_by(scope: Scope, method: ast.FunctionDef) -> ast.Call | None:
    """The ``sbuf.mod_alloc(...)`` that a method returns, if that is all it ever returns."""
    returns = [n.value for n in of_kinds(method, ast.Return)]
    call = returns[0] if len(returns) == 1 else None
    if not isinstance(call, ast.Call) or _outside(scope).qualified(call.func) != "ncc.sbuf.mod_alloc":
        return None
    return call


def _outside(scope: Scope) -> Scope:
    """Names as the module's top level sees them."""
    outside = Scope(scope.module, scope.function, False)
    outside.names.env = dict(scope.module.environment.values)
    return outside


def tiles_of(scope: Scope, method: ast.FunctionDef, call: ast.Call) -> tuple[str, ...]:
    """``num_free_tiles`` of one call, in the terms of the caller."""
    returned = returned_by(scope, method)
    assert returned is not None
    sizes = next((k.value for k in returned.keywords if k.arg == "num_free_tiles"), None)
    if sizes is None:
        return ()
    names = [a.arg for a in method.args.args[1:]]
    given: dict[str | None, ast.expr] = {a.arg: d for a, d in default_values(method).items()}
    given.update(zip(names, call.args, strict=False))
    given.update((k.arg, k.value) for k in call.keywords)
    elements = sizes.elts if isinstance(sizes, ast.Tuple | ast.List) else [sizes]
    texts = []
    for element in elements:
        value = given.get(element.id) if isinstance(element, ast.Name) else element
        if not isinstance(sizes, ast.Tuple | ast.List) or not (
            value in given.values() or isinstance(value, ast.Constant)
        ):
            raise Refuse(
                call, codes.ALLOCATOR_OBJECTS, "a number of tiles that the object computes", "pass the number of tiles"
            )
        assert value is not None
        texts.append(render(scope, value))
    return tuple(texts)
