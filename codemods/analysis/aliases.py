"""Which names mean one object, a part of it, or what holds it? Names of a function, as its statements bind them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..syntax.node_index import of_kinds
from ..syntax.nodes import root_of, whole_of
from .callees import arguments_of, callees

if TYPE_CHECKING:
    from ..project.program import Module

CHANGING = set("append extend insert pop remove clear update setdefault add discard sort reverse popitem".split())
"""Methods of Python's containers that change them."""


@dataclass(frozen=True)
class Aliases:
    """What the names of some statements have to do with each other, as :func:`_also_called` and :func:`_held` say."""

    also_called: Mapping[tuple[str, bool], set[str]]
    held: Mapping[str, set[str]]

    def of(self, name: str, *, part: bool) -> set[str]:
        """The names of all that may change with an object, or with a part of it, that changes under ``name``.

        They mean it by way of another name: ``name`` is among them if it is bound to one of them.
        """
        found: set[tuple[str, bool]] = set()
        pending = [(name, part)]
        while pending:
            name, part = pending.pop()
            more = {(other, part) for other in self.also_called.get((name, True), ())}
            more |= {(other, True) for other in self.also_called.get((name, False), ())}
            more |= {(other, True) for other in self.held.get(name, ()) if part}
            pending += more - found
            found |= more
        return {name for name, _ in found}


def aliases(module: Module, function: ast.FunctionDef, nodes: Sequence[ast.AST]) -> Aliases:
    """The aliases that ``nodes`` of a function make: its assignments, loops and calls."""
    return Aliases(_also_called(module, function, nodes), _held(module, function, nodes))


def _also_called(
    module: Module, function: ast.FunctionDef, nodes: Sequence[ast.AST]
) -> dict[tuple[str, bool], set[str]]:
    """Names of the objects that a name stands for, or (with ``False``) that what it stands for is a part of."""
    found: dict[tuple[str, bool], set[str]] = {}
    for node in nodes:
        pairs = [p for t in node.targets for p in _pairs(t, node.value)] if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.For):
            pairs = [(name, node.iter, False) for name in _names_in(node.target)]
        for name, source, whole in pairs:
            for root, is_source in named_by(module, function, source):
                found.setdefault((name, whole and is_source), set()).add(root.id)
            parts = () if whole else _elements(module, function, source)
            found.setdefault((name, False), set()).update(part.id for part in parts if part is not None)
    return found


def _pairs(target: ast.expr, source: ast.expr) -> Iterator[tuple[str, ast.expr, bool]]:
    """The names that an assignment binds, each with what it is bound to, or (with ``False``) to a part of."""
    sequence = ast.Tuple | ast.List
    if isinstance(target, ast.Name):
        yield target.id, source, True
    elif isinstance(target, sequence) and isinstance(source, sequence) and len(target.elts) == len(source.elts):
        for inner, part in zip(target.elts, source.elts, strict=True):
            yield from _pairs(inner, part)
    else:
        yield from ((name, source, False) for name in _names_in(target))


def _names_in(target: ast.expr) -> set[str]:
    return {n.id for n in of_kinds(target, ast.Name) if not isinstance(n.ctx, ast.Load)}


def named_by(
    module: Module, function: ast.FunctionDef, source: ast.expr | None, inside: _Functions = frozenset()
) -> Iterator[tuple[ast.Name, bool]]:
    """The names of the objects that an expression may be, or (with ``False``) be a part of.

    ``inside`` are the functions whose results are looked into already.
    """
    match source:
        case ast.Name():
            yield source, True
        case ast.Subscript() | ast.Attribute():
            whole = whole_of(source)
            yield from ((n, False) for n, _ in named_by(module, function, whole, inside))
            yield from ((n, False) for n in _elements(module, function, whole) if n is not None)
        case ast.Call():
            yield from ((n, False) for n in _handed_back(module, function, source, inside))
        case ast.IfExp(body=first, orelse=second):
            yield from (found for part in (first, second) for found in named_by(module, function, part, inside))
        case ast.BoolOp(values=parts):
            yield from (found for part in parts for found in named_by(module, function, part, inside))


_Functions = frozenset[ast.FunctionDef]
_DEEPEST = 3
"""How many functions deep the result of a call is looked for: each hands back what another one does."""


def _held(module: Module, function: ast.FunctionDef, nodes: Sequence[ast.AST]) -> dict[str, set[str]]:
    """By name, the names of the objects that it may hold as its elements, values or fields."""
    found: dict[str, set[str]] = {}
    for node in nodes:
        for holder, value, is_element in _put(node):
            own = root_of(value) if is_element else None
            names = {n.id for n in [own, *_elements(module, function, value)] if n is not None}
            found.setdefault(holder.id, set()).update(names)
    return found


def _put(node: ast.AST) -> Iterator[tuple[ast.Name, ast.expr, bool]]:
    """The names of what a node changes, or makes, each with a value that it holds itself (or else its elements)."""
    if isinstance(node, ast.Assign):
        roots = [(root_of(target), target) for target in node.targets]
        yield from ((root, node.value, root is not target) for root, target in roots if root is not None)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CHANGING:
        root = root_of(node.func)
        if root is not None:
            yield from ((root, given, True) for given in [*node.args, *(k.value for k in node.keywords)])


def _elements(module: Module, function: ast.FunctionDef, value: ast.expr | None) -> Iterator[ast.Name | None]:
    """What an object that an expression makes may hold."""
    match value:
        case ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.Set(elts=elements):
            inner = elements
        case ast.Dict(values=elements):
            inner = elements
        case ast.ListComp(elt=element) | ast.DictComp(value=element):
            inner = [element, *(c.iter for c in value.generators)]
        case ast.Call() if ast.unparse(value.func) in _COPIES or any(callees(module, function, value)):
            inner = [*value.args, *(k.value for k in value.keywords)]
        case ast.IfExp(body=first, orelse=second) | ast.BinOp(left=first, right=second):
            inner = [first, second]
        case ast.Starred(value=starred):
            inner = [starred]
        case _:
            return
    for each in inner:
        yield root_of(each)
        yield from _elements(module, function, each)


_COPIES = {"list", "tuple", "dict", "set", "sorted", "reversed", "enumerate", "zip"}
"""Functions of Python whose result holds the elements of what they get."""


def _handed_back(
    module: Module, function: ast.FunctionDef, call: ast.Call, inside: _Functions = frozenset()
) -> Iterator[ast.Name]:
    """Of what a call gets, what it may return, or a part of it."""
    if isinstance(call.func, ast.Attribute) and call.func.attr in ("get", "setdefault"):
        yield from (name for name, _ in named_by(module, function, call.func.value, inside))
    for callee in callees(module, function, call) if len(inside) < _DEEPEST else ():
        given = arguments_of(callee, call)
        for node in (n for s in callee.function.body for n in of_kinds(s, ast.Return)):
            for name, _ in named_by(callee.home, callee.function, node.value, inside | {callee.function}):
                yield from (found for found, _ in named_by(module, function, given.get(name.id), inside))
