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

from ..syntax.node_index import children, indexed, walk
from ..syntax.nodes import bound_by, named_parameters
from .aliases import CHANGING, aliases, named_by
from .callees import Callee, arguments_of, callees, is_foreign
from .classes import class_in
from .lists import extends_list

if TYPE_CHECKING:
    from ..project.program import Module


@dataclass(frozen=True)
class Change:
    """``node`` changes the object ``name``; ``stored`` where all it does is to store under an index, as into a tile.

    What changes may be a ``part`` of the object. ``through``: it is changed under another name that the code around
    the change has given to it, to a part of it, or to what holds it.
    """

    node: ast.stmt | ast.expr
    name: str
    stored: bool
    part: bool = False
    through: bool = False


def changes(module: Module, function: ast.FunctionDef, body: Iterable[ast.stmt]) -> Iterator[Change]:
    """What statements of a function change, in the order of the source; ``function`` tells what their names mean."""
    nodes = [node for statement in body for node in _executed(statement)]
    names = aliases(module, function, nodes)
    for node in nodes:
        for change in _of_node(module, function, node):
            yield change
            yield from (
                replace(change, name=name, through=True) for name in sorted(names.of(change.name, part=change.part))
            )


def _of_node(module: Module, function: ast.FunctionDef, node: ast.AST) -> Iterator[Change]:
    match node:
        case ast.Attribute(ctx=ast.Load()):
            yield from _of_object(module, function, node, node.value)  # a method that is called later, if at all
        case ast.Subscript() if not _fills_field(node):
            yield from _of_object(module, function, node, node.value, stored=not _is_key(node.slice))
        case ast.Attribute():
            yield from _of_object(module, function, node, node.value)
        case ast.AugAssign() if extends_list(module, function, node):
            yield from _of_object(module, function, node, node.target)
        case ast.Call(func=ast.Attribute(attr=name, value=value)) if name in CHANGING:
            is_known = class_in(module, function, value) is not None
            found = [] if is_known else [*_of_object(module, function, node, value)]
            yield from found or _through_call(module, function, node)
        case ast.Call():
            yield from _through_call(module, function, node)


def _of_object(
    module: Module, function: ast.FunctionDef, node: ast.stmt | ast.expr, value: ast.expr, *, stored: bool = False
) -> Iterator[Change]:
    """The changes of the objects that an expression may be, which ``node`` changes."""
    for name, is_whole in named_by(module, function, value):
        yield Change(node, name.id, stored, part=not is_whole)


def _fills_field(node: ast.Subscript | ast.Attribute) -> bool:
    """Does a store write to a tensor in a field of an object: ``self.tile[...] = ``, ``self.tile[:, i] = ``?"""
    if not isinstance(node, ast.Subscript) or isinstance(node.value, ast.Name):
        return False
    parts = list(walk(node.slice))
    return any(isinstance(n, ast.Slice) or (isinstance(n, ast.Constant) and n.value is Ellipsis) for n in parts)


@indexed
def _executed(statement: ast.stmt) -> tuple[ast.AST, ...]:
    """What a statement runs that may change or name an object, in the order of the source: calls, assignments, loops,
    stores into parts, and methods as values, but for what only calls of what it defines run."""
    found: list[ast.AST] = []
    called: set[ast.AST] = set()
    pending: list[ast.AST] = [statement]
    while pending:
        node = pending.pop()
        called |= {node.func} if isinstance(node, ast.Call) else set()
        is_method = isinstance(node, ast.Attribute) and node.attr in CHANGING and node not in called
        if isinstance(node, ast.Call | ast.Assign | ast.AugAssign | ast.For) or _is_stored_part(node) or is_method:
            found.append(node)
        if not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Lambda):
            pending += reversed(children(node))
    return tuple(found)


def _is_stored_part(node: ast.AST) -> bool:
    return isinstance(node, ast.Subscript | ast.Attribute) and not isinstance(node.ctx, ast.Load)


def _through_call(module: Module, function: ast.FunctionDef, call: ast.Call) -> Iterator[Change]:
    """What a call changes, in the caller's words."""
    for callee in callees(module, function, call):
        own = {a.arg for a in named_parameters(callee.function)}
        own |= {name for statement in callee.function.body for name in bound_by(statement)}
        given = arguments_of(callee, call)
        for name, stored, part in sorted(_changed_by(callee)):
            argument = given.get(name)
            if name not in own and not is_foreign(callee.home, name):
                yield Change(call, name, stored, part)  # of the function around it, or of the module
            elif argument is not None:
                found = _of_object(module, function, call, argument, stored=stored)
                yield from (replace(each, part=part or each.part) for each in found if not (stored and each.part))


def _changed_by(callee: Callee) -> set[tuple[str, bool, bool]]:
    """The names, in the callee's words, of what it changes; does it only store under an index, and in a part of it?"""
    known = callee.home.summaries.changed_by
    if callee.function not in known:
        known[callee.function] = set()  # for a function that calls itself
        found = changes(callee.home, callee.around or callee.function, callee.function.body)
        known[callee.function] = {(change.name, change.stored, change.part) for change in found}
    return known[callee.function]


def _is_key(node: ast.expr) -> bool:
    """Is a subscript the key of a dictionary for certain?"""
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
