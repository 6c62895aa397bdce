"""What functions and methods a call may mean, and what it gives them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..syntax.node_index import indexed, of_kinds
from ..syntax.nodes import bound_by, named_parameters, positional_parameters, root_of
from .classes import class_in, class_named
from .lists import assigned_to

if TYPE_CHECKING:
    from ..project.program import Module


@dataclass(frozen=True)
class Callee:
    """A function or method that a call means, and the function around it where it is a nested one."""

    home: Module
    function: ast.FunctionDef
    around: ast.FunctionDef | None = None
    receiver: ast.expr | None = None
    has_receiver: bool = False


def callees(module: Module, function: ast.FunctionDef, call: ast.Call) -> Iterator[Callee]:
    """What a call may mean: of a method of an object of unknown class, all that have its name.

    What a package has that is not rewritten, ``nl.load`` or ``np.append``, is none of them. A function that the code
    finds under a name of its own, or computes, may be any of the files'.
    """
    if isinstance(call.func, ast.Name):
        nested = [n for n in of_kinds(function, ast.FunctionDef) if n is not function]
        for inner in (n for n in nested if n.name == call.func.id):
            yield Callee(module, inner, function)
    made = class_named(module, call.func)
    if made is not None and "__init__" in made.methods:
        yield Callee(made.home, made.methods["__init__"], has_receiver=True)
        return
    found = module.symbols.functions.get(call.func.id) if isinstance(call.func, ast.Name) else None
    plain = (module, found) if found is not None else module.program.function(module, call.func)
    if plain is not None:
        yield Callee(*plain)
    elif isinstance(call.func, ast.Attribute):
        root = root_of(call.func)
        if root is None or not is_foreign(module, root.id):
            yield from _methods(module, function, call.func)
    elif made is None:
        yield from _computed(module, function, call.func)


def _computed(
    module: Module, function: ast.FunctionDef, node: ast.expr, seen: frozenset[str] = frozenset()
) -> Iterator[Callee]:
    """What a function may be that code computes, or has under a name of its own: where nothing tells, any."""
    root = root_of(node)
    name = node.id if isinstance(node, ast.Name) else ""
    values = assigned_to(function, name) if name not in seen else ()
    parts = [node.body, node.orelse] if isinstance(node, ast.IfExp) else values
    own = _local_names(function) | set(module.symbols.globals)
    if name in module.symbols.functions:
        yield Callee(module, module.symbols.functions[name])
    elif parts:
        yield from (callee for part in parts for callee in _computed(module, function, part, seen | {name}))
    elif root is None or (root.id in own and not is_foreign(module, root.id)):
        homes = module.program.modules.values()
        yield from (Callee(home, each) for home in homes for each in home.symbols.functions.values())


@indexed
def _local_names(function: ast.FunctionDef) -> frozenset[str]:
    inner = {n.name for n in of_kinds(function, ast.FunctionDef)}
    bound = {name for statement in function.body for name in bound_by(statement)}
    return frozenset((bound | {a.arg for a in named_parameters(function)}) - inner)


def is_foreign(module: Module, name: str) -> bool:
    """Does a module import ``name`` from what is not rewritten with it?"""
    return name in module.symbols.imports and name not in module.program.links.get(module.path, {})


def _methods(module: Module, function: ast.FunctionDef, node: ast.Attribute) -> Iterator[Callee]:
    owner = class_in(module, function, node.value) or class_named(module, node.value)
    if owner is not None:
        candidates = [(owner.home, owner.methods[node.attr])] if node.attr in owner.methods else []
    else:
        every = [
            (home, s) for home in module.program.modules.values() for c in home.symbols.classes.values() for s in c.body
        ]
        candidates = [(h, s) for h, s in every if isinstance(s, ast.FunctionDef) and s.name == node.attr]
    for home, method in candidates:
        static = any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in method.decorator_list)
        yield Callee(home, method, receiver=node.value, has_receiver=not static)


def arguments_of(callee: Callee, call: ast.Call) -> dict[str, ast.expr | None]:
    """What a call passes, by the names of the parameters."""
    names = [argument.arg for argument in positional_parameters(callee.function)]
    values: list[ast.expr | None] = [*([callee.receiver] if callee.has_receiver else []), *call.args]
    return {**dict(zip(names, values, strict=False)), **{k.arg: k.value for k in call.keywords if k.arg is not None}}
