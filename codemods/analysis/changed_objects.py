"""Which Python objects does code change in place, itself or through the functions and methods that it calls?

A tensor that is written to looks the same as a list or a dictionary: whoever asks tells them apart. What a function
stores under an index counts where the caller passes a name; what it passes on may be a part of an object that holds
tensors.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..syntax.node_index import children, indexed, of_kinds, walk
from ..syntax.nodes import bound_by, named_parameters, positional_parameters
from .classes import class_in, class_named
from .lists import assigned_to, extends_list

if TYPE_CHECKING:
    from ..project.program import Module

CHANGING = set("append extend insert pop remove clear update setdefault add discard sort reverse popitem".split())
"""Methods of Python's containers that change them."""


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


@dataclass(frozen=True)
class _Callee:
    """A function or method that a call means, and the function around it where it is a nested one."""

    home: Module
    function: ast.FunctionDef
    around: ast.FunctionDef | None = None
    receiver: ast.expr | None = None
    has_receiver: bool = False


@dataclass(frozen=True)
class _Names:
    """What names have to do with each other, as :func:`_also_called` and :func:`_held` say."""

    also_called: Mapping[tuple[str, bool], set[str]]
    held: Mapping[str, set[str]]

    def of(self, change: Change) -> set[str]:
        """The names of all that a change may change, by way of another one: its own, too, if that is bound to it."""
        found: set[tuple[str, bool]] = set()
        pending = [(change.name, change.part)]
        while pending:
            name, part = pending.pop()
            more = {(other, part) for other in self.also_called.get((name, True), ())}
            more |= {(other, True) for other in self.also_called.get((name, False), ())}
            more |= {(other, True) for other in self.held.get(name, ()) if part}
            pending += more - found
            found |= more
        return {name for name, _ in found}


def changes(module: Module, function: ast.FunctionDef, body: Iterable[ast.stmt]) -> Iterator[Change]:
    """What statements of a function change, in the order of the source; ``function`` tells what their names mean."""
    nodes = [node for statement in body for node in _executed(statement)]
    names = _Names(_also_called(module, function, nodes), _held(module, function, nodes))
    for node in nodes:
        for change in _of_node(module, function, node):
            yield change
            yield from (replace(change, name=name, through=True) for name in sorted(names.of(change)))


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
            found = (
                [] if class_in(module, function, value) is not None else [*_of_object(module, function, node, value)]
            )
            yield from found or _through_call(module, function, node)
        case ast.Call():
            yield from _through_call(module, function, node)


def _of_object(
    module: Module, function: ast.FunctionDef, node: ast.stmt | ast.expr, value: ast.expr, *, stored: bool = False
) -> Iterator[Change]:
    """The changes of the objects that an expression may be, which ``node`` changes."""
    for name, is_whole in _named_by(module, function, value):
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


def _also_called(module: Module, function: ast.FunctionDef, nodes: list[ast.AST]) -> dict[tuple[str, bool], set[str]]:
    """Names of the objects that a name stands for, or (with ``False``) that what it stands for is a part of."""
    found: dict[tuple[str, bool], set[str]] = {}
    for node in nodes:
        pairs = [p for t in node.targets for p in _pairs(t, node.value)] if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.For):
            pairs = [(name, node.iter, False) for name in _names_in(node.target)]
        for name, source, whole in pairs:
            for root, is_source in _named_by(module, function, source):
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


def _named_by(
    module: Module, function: ast.FunctionDef, source: ast.expr | None, inside: _Functions = frozenset()
) -> Iterator[tuple[ast.Name, bool]]:
    """The names of the objects that an expression may be, or (with ``False``) be a part of.

    ``inside`` are the functions whose results are looked into already.
    """
    match source:
        case ast.Name():
            yield source, True
        case ast.Subscript() | ast.Attribute():
            whole = _whole(source)
            yield from ((n, False) for n, _ in _named_by(module, function, whole, inside))
            yield from ((n, False) for n in _elements(module, function, whole) if n is not None)
        case ast.Call():
            yield from ((n, False) for n in _handed_back(module, function, source, inside))
        case ast.IfExp(body=first, orelse=second):
            yield from (found for part in (first, second) for found in _named_by(module, function, part, inside))
        case ast.BoolOp(values=parts):
            yield from (found for part in parts for found in _named_by(module, function, part, inside))


_Functions = frozenset[ast.FunctionDef]
_DEEPEST = 3
"""How many functions deep the result of a call is looked for: each hands back what another one does."""


def _held(module: Module, function: ast.FunctionDef, nodes: list[ast.AST]) -> dict[str, set[str]]:
    """By name, the names of the objects that it may hold as its elements, values or fields."""
    found: dict[str, set[str]] = {}
    for node in nodes:
        for holder, value, is_element in _put(node):
            own = _root(value) if is_element else None
            names = {n.id for n in [own, *_elements(module, function, value)] if n is not None}
            found.setdefault(holder.id, set()).update(names)
    return found


def _put(node: ast.AST) -> Iterator[tuple[ast.Name, ast.expr, bool]]:
    """The names of what a node changes, or makes, each with a value that it holds itself (or else its elements)."""
    if isinstance(node, ast.Assign):
        roots = [(_root(target), target) for target in node.targets]
        yield from ((root, node.value, root is not target) for root, target in roots if root is not None)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CHANGING:
        root = _root(node.func)
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
        case ast.Call() if ast.unparse(value.func) in _COPIES or any(_callees(module, function, value)):
            inner = [*value.args, *(k.value for k in value.keywords)]
        case ast.IfExp(body=first, orelse=second) | ast.BinOp(left=first, right=second):
            inner = [first, second]
        case ast.Starred(value=starred):
            inner = [starred]
        case _:
            return
    for each in inner:
        yield _root(each)
        yield from _elements(module, function, each)


_COPIES = {"list", "tuple", "dict", "set", "sorted", "reversed", "enumerate", "zip"}
"""Functions of Python whose result holds the elements of what they get."""


def _handed_back(
    module: Module, function: ast.FunctionDef, call: ast.Call, inside: _Functions = frozenset()
) -> Iterator[ast.Name]:
    """Of what a call gets, what it may return, or a part of it."""
    if isinstance(call.func, ast.Attribute) and call.func.attr in ("get", "setdefault"):
        yield from (name for name, _ in _named_by(module, function, call.func.value, inside))
    for callee in _callees(module, function, call) if len(inside) < _DEEPEST else ():
        given = _given(callee, call)
        for node in (n for s in callee.function.body for n in of_kinds(s, ast.Return)):
            for name, _ in _named_by(callee.home, callee.function, node.value, inside | {callee.function}):
                yield from (found for found, _ in _named_by(module, function, given.get(name.id), inside))


def _through_call(module: Module, function: ast.FunctionDef, call: ast.Call) -> Iterator[Change]:
    """What a call changes, in the caller's words."""
    for callee in _callees(module, function, call):
        own = {a.arg for a in named_parameters(callee.function)}
        own |= {name for statement in callee.function.body for name in bound_by(statement)}
        given = _given(callee, call)
        for name, stored, part in sorted(_changed_by(callee)):
            argument = given.get(name)
            if name not in own and not _is_foreign(callee.home, name):
                yield Change(call, name, stored, part)  # of the function around it, or of the module
            elif argument is not None:
                found = _of_object(module, function, call, argument, stored=stored)
                yield from (replace(each, part=part or each.part) for each in found if not (stored and each.part))


def _changed_by(callee: _Callee) -> set[tuple[str, bool, bool]]:
    """The names, in the callee's words, of what it changes; does it only store under an index, and in a part of it?"""
    known = callee.home.summaries.changed_by
    if callee.function not in known:
        known[callee.function] = set()  # for a function that calls itself
        found = changes(callee.home, callee.around or callee.function, callee.function.body)
        known[callee.function] = {(change.name, change.stored, change.part) for change in found}
    return known[callee.function]


def _callees(module: Module, function: ast.FunctionDef, call: ast.Call) -> Iterator[_Callee]:
    """What a call may mean: of a method of an object of unknown class, all that have its name.

    What a package has that is not rewritten, ``nl.load`` or ``np.append``, is none of them. A function that the code
    finds under a name of its own, or computes, may be any of the files'.
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
    elif made is None:
        yield from _computed(module, function, call.func)


def _computed(
    module: Module, function: ast.FunctionDef, node: ast.expr, seen: frozenset[str] = frozenset()
) -> Iterator[_Callee]:
    """What a function may be that code computes, or has under a name of its own: where nothing tells, any."""
    root = _root(node)
    name = node.id if isinstance(node, ast.Name) else ""
    values = assigned_to(function, name) if name not in seen else ()
    parts = [node.body, node.orelse] if isinstance(node, ast.IfExp) else values
    own = _local_names(function) | set(module.symbols.globals)
    if name in module.symbols.functions:
        yield _Callee(module, module.symbols.functions[name])
    elif parts:
        yield from (callee for part in parts for callee in _computed(module, function, part, seen | {name}))
    elif root is None or (root.id in own and not _is_foreign(module, root.id)):
        homes = module.program.modules.values()
        yield from (_Callee(home, each) for home in homes for each in home.symbols.functions.values())


@indexed
def _local_names(function: ast.FunctionDef) -> frozenset[str]:
    inner = {n.name for n in of_kinds(function, ast.FunctionDef)}
    bound = {name for statement in function.body for name in bound_by(statement)}
    return frozenset((bound | {a.arg for a in named_parameters(function)}) - inner)


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
    whole = _whole(node) if node is not None else None
    return whole if isinstance(whole, ast.Name) else None


def _whole(node: ast.expr) -> ast.expr:
    """What an expression gives a part of, or itself."""
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return node
