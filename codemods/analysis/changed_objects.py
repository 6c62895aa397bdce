"""Which Python objects does code change in place, itself or through the functions and methods that it calls?

A tensor that is written to looks the same as a list or a dictionary: whoever asks tells them apart. What a function
stores under an index counts where the caller passes a name; what it passes on may be a part of an object that holds
tensors.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..syntax.node_index import children, indexed, of_kinds, walk
from ..syntax.nodes import bound_by, named_parameters, positional_parameters
from .classes import class_in, class_named

if TYPE_CHECKING:
    from ..project.program import Module

CHANGING = set("append extend insert pop remove clear update setdefault add discard sort reverse popitem".split())
"""Methods of Python's containers that change them."""


@dataclass(frozen=True)
class Change:
    """``node`` changes the object ``name``; ``stored`` where all it does is to store under an index, as into a tile."""

    node: ast.stmt | ast.expr
    name: str
    stored: bool


@dataclass(frozen=True)
class _Callee:
    """A function or method that a call means, and the function around it where it is a nested one."""

    home: Module
    function: ast.FunctionDef
    around: ast.FunctionDef | None = None
    receiver: ast.expr | None = None
    has_receiver: bool = False


def changes(module: Module, function: ast.FunctionDef, body: Iterable[ast.stmt]) -> Iterator[Change]:
    """What statements of a function change, in the order of the source; ``function`` tells what their names mean."""
    nodes = [node for statement in body for node in _executed(statement)]
    also_called = _also_called(module, function, nodes)
    for node in nodes:
        for change in _of_node(module, function, node):
            yield change
            names = also_called.get((change.name, True), set())
            names = names if change.stored else names | also_called.get((change.name, False), set())
            yield from (replace(change, name=name) for name in sorted(names - {change.name}))


def _of_node(module: Module, function: ast.FunctionDef, node: ast.AST) -> Iterator[Change]:
    if isinstance(node, ast.Subscript | ast.Attribute):
        root = _root(node.value)
        if root is not None and not _fills_field(node):
            yield Change(node, root.id, isinstance(node, ast.Subscript) and not _is_key(node.slice))
    elif isinstance(node, ast.Call):
        method = node.func if isinstance(node.func, ast.Attribute) and node.func.attr in CHANGING else None
        root = _root(method)
        if method is not None and root is not None and class_in(module, function, method.value) is None:
            yield Change(node, root.id, False)
        else:
            yield from _through_call(module, function, node)


def _fills_field(node: ast.Subscript | ast.Attribute) -> bool:
    """Does a store write to a tensor in a field of an object: ``self.tile[...] = ``, ``self.tile[:, i] = ``?"""
    if not isinstance(node, ast.Subscript) or isinstance(node.value, ast.Name):
        return False
    parts = list(walk(node.slice))
    return any(isinstance(n, ast.Slice) or (isinstance(n, ast.Constant) and n.value is Ellipsis) for n in parts)


@indexed
def _executed(statement: ast.stmt) -> tuple[ast.AST, ...]:
    """What a statement runs that may change or name an object, in the order of the source: calls, assignments, loops,
    and stores into parts, but for what only calls of what it defines run."""
    found: list[ast.AST] = []
    pending: list[ast.AST] = [statement]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Call | ast.Assign | ast.For) or _is_stored_part(node):
            found.append(node)
        if not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Lambda):
            pending += reversed(children(node))
    return tuple(found)


def _is_stored_part(node: ast.AST) -> bool:
    return isinstance(node, ast.Subscript | ast.Attribute) and not isinstance(node.ctx, ast.Load)


def _also_called(module: Module, function: ast.FunctionDef, nodes: list[ast.AST]) -> dict[tuple[str, bool], set[str]]:
    """Names of the objects that a name stands for, or (with ``False``) that what it stands for is a part of."""
    found: dict[tuple[str, bool], set[str]] = {}
    for node in nodes:
        source = node.value if isinstance(node, ast.Assign) else node.iter if isinstance(node, ast.For) else None
        roots = [_root(source)]
        if isinstance(source, ast.Call):
            roots = list(_handed_back(module, function, source))
        targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.For) else []
        for target in targets:
            for root in roots:
                if isinstance(target, ast.Name) and root is not None:
                    whole = isinstance(node, ast.Assign) and root is source
                    found.setdefault((target.id, whole), set()).add(root.id)
    for names in found.values():
        for _ in found:
            names |= {n for name in names for n in found.get((name, True), ())}
    return found


def _handed_back(module: Module, function: ast.FunctionDef, call: ast.Call) -> Iterator[ast.Name | None]:
    """Of what a call gets, what it may return, or a part of it."""
    if isinstance(call.func, ast.Attribute) and call.func.attr in ("get", "setdefault"):
        yield _root(call.func.value)
    for callee in _callees(module, function, call):
        given = _given(callee, call)
        for node in (n for s in callee.function.body for n in of_kinds(s, ast.Return)):
            root = _root(node.value)
            yield _root(given.get(root.id)) if root is not None else None


def _through_call(module: Module, function: ast.FunctionDef, call: ast.Call) -> Iterator[Change]:
    """What a call changes, in the caller's words."""
    for callee in _callees(module, function, call):
        own = {a.arg for a in named_parameters(callee.function)}
        own |= {name for statement in callee.function.body for name in bound_by(statement)}
        given = _given(callee, call)
        for name, stored in sorted(_changed_by(callee)):
            argument = given.get(name)
            root = argument if stored else _root(argument)
            if name not in own and not _is_foreign(callee.home, name):
                yield Change(call, name, stored)  # of the function around it, or of the module
            elif isinstance(root, ast.Name):
                yield Change(call, root.id, stored)


def _changed_by(callee: _Callee) -> set[tuple[str, bool]]:
    """The names, in the callee's words, of what it changes, and whether it only stores under an index."""
    known = callee.home.summaries.changed_by
    if callee.function not in known:
        known[callee.function] = set()  # for a function that calls itself
        found = changes(callee.home, callee.around or callee.function, callee.function.body)
        known[callee.function] = {(change.name, change.stored) for change in found}
    return known[callee.function]


def _callees(module: Module, function: ast.FunctionDef, call: ast.Call) -> Iterator[_Callee]:
    """What a call may mean: of a method of an object of unknown class, all that have its name.

    What a package has that is not rewritten, ``nl.load`` or ``np.append``, is none of them.
    """
    if isinstance(call.func, ast.Name):
        nested = [n for n in of_kinds(function, ast.FunctionDef) if n is not function]
        for inner in (n for n in nested if n.name == call.func.id):
            yield _Callee(module, inner, function)
    made = class_named(module, call.func)
    if made is not None and "__init__" in made.methods:
        yield _Callee(made.home, made.methods["__init__"], has_receiver=True)
        return
    found = module.symbols.functions.get(call.func.id) if isinstance(call.func, ast.Name) else None
    plain = (module, found) if found is not None else module.program.function(module, call.func)
    if plain is not None:
        yield _Callee(*plain)
    elif isinstance(call.func, ast.Attribute):
        root = _root(call.func)
        if root is None or not _is_foreign(module, root.id):
            yield from _methods(module, function, call.func)


def _is_foreign(module: Module, name: str) -> bool:
    """Does a module import ``name`` from what is not rewritten with it?"""
    return name in module.symbols.imports and name not in module.program.links.get(module.path, {})


def _methods(module: Module, function: ast.FunctionDef, node: ast.Attribute) -> Iterator[_Callee]:
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
        yield _Callee(home, method, receiver=node.value, has_receiver=not static)


def _given(callee: _Callee, call: ast.Call) -> dict[str, ast.expr | None]:
    """What a call passes, by the names of the parameters."""
    names = [argument.arg for argument in positional_parameters(callee.function)]
    values: list[ast.expr | None] = [*([callee.receiver] if callee.has_receiver else []), *call.args]
    return {**dict(zip(names, values, strict=False)), **{k.arg: k.value for k in call.keywords if k.arg is not None}}


def _is_key(node: ast.expr) -> bool:
    """Is a subscript the key of a dictionary for certain?"""
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _root(node: ast.expr | None) -> ast.Name | None:
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return node if isinstance(node, ast.Name) else None
