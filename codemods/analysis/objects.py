"""Parts of Python objects and containers, ``cfg.size`` and ``padding[0]``: may they change after they are read?

The attributes of frozen dataclasses and named tuples may not. Else only what runs after the first reading matters: the
rest of the function, and all of the loop that the reading stands in. There, nothing may assign to attributes (or
elements), and no function or method that the module does not show may get hold of the object, or of anything that was
made from it or that it was made from.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..expr.values import Hbm, Python, Tile
from ..syntax.node_index import of_kinds, walk
from ..syntax.nodes import bound_by, default_values, is_shape, root_of
from .classes import class_of

if TYPE_CHECKING:
    from .scope import Scope

_QUIET_BUILTINS = set(
    "abs all any bool divmod enumerate float int isinstance len list max min pow print range reversed round slice "
    "sorted str sum tuple type zip".split()
)
_OF_TENSORS = ("shape", "dtype", "itemsize", "ndim")
_QUIET_METHODS = {"get", "keys", "values", "items", "index", "count", "reshape", "ap", "broadcast_to", "view", "format"}


def changing_part(scope: Scope, node: ast.expr) -> str:
    """``"object"`` or ``"container"`` when an expression reads a part of one that may change; else nothing."""
    settled: set[ast.AST] = set()
    for part in walk(node):
        if isinstance(part, ast.Attribute) and (part in settled or _is_fixed(scope, part)):
            settled.add(part.value)
            continue
        if isinstance(part, ast.Subscript) and _may_have_changed(scope, part.value):
            return "container"
        if isinstance(part, ast.Call) and _measures(scope, part):
            return "container"
        if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and _is_object(scope, part):
            known = scope.names.env.get(part.value.id)
            if isinstance(known, Tile | Hbm) or _changes(scope, part.value.id, elements=False):
                return "object"
    return ""


def _may_have_changed(scope: Scope, container: ast.expr) -> bool:
    """May the elements of what a subscript reads be others than when it was made?"""
    if is_shape(container) or _is_tuple(scope, container):
        return False
    root = root_of(container)
    if root is None:
        return True
    known = scope.names.env.get(root.id)
    fixed = isinstance(known, Python) if root.id in scope.names.assigned else known is None
    return not fixed or _changes(scope, root.id, elements=True)


def _measures(scope: Scope, call: ast.Call) -> bool:
    """Does a call ask a container that may change for its length, or for all that is in it?"""
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    if name not in ("len", "sum", "min", "max") or len(call.args) != 1 or _is_tuple(scope, call.args[0]):
        return False
    root = root_of(call.args[0])
    return root is not None and not is_shape(call.args[0]) and _changes(scope, root.id, elements=True)


def _is_fixed(scope: Scope, node: ast.Attribute) -> bool:
    """Is an attribute one of an object that keeps what it was made with, as do those that lead to it?"""
    if node.attr in _OF_TENSORS and isinstance(node.value, ast.Attribute):
        return _is_fixed(scope, node.value)
    owner = class_of(scope, node.value)
    if owner is None or not owner.is_frozen or not owner.is_plain_field(node.attr):
        return False
    return isinstance(node.value, ast.Name) or (isinstance(node.value, ast.Attribute) and _is_fixed(scope, node.value))


def _is_tuple(scope: Scope, node: ast.expr) -> bool:
    """Is a container a tuple, or a shape, that its function binds once?"""
    value = only_value(scope, node)
    return value is not None and (isinstance(value, ast.Tuple) or is_shape(value))


def only_value(scope: Scope, node: ast.expr) -> ast.expr | None:
    """What a name stands for that its function binds once."""
    if not isinstance(node, ast.Name) or scope.names.assigned[node.id] != 1:
        return None
    bound = (s for s in of_kinds(scope.function, ast.Assign))
    values = [s.value for s in bound if any(isinstance(t, ast.Name) and t.id == node.id for t in s.targets)]
    return values[0] if len(values) == 1 else None


def _is_object(scope: Scope, node: ast.Attribute) -> bool:
    """Is an attribute that of an object which may change (no module, no tensor)?"""
    if node.attr in _OF_TENSORS or scope.qualified(node) is not None:
        return False
    assert isinstance(node.value, ast.Name)
    return node.value.id not in scope.module.symbols.imports


def _changes(scope: Scope, root: str, *, elements: bool) -> bool:
    """May something change the object ``root``, or what it holds, from the current statement on?"""
    first = scope.place.loops[0].statement if scope.place.loops else scope.place.statement or scope.function
    changing = of_kinds(scope.function, ast.Attribute, ast.Subscript, ast.Call)
    later = [n for n in changing if getattr(n, "lineno", 0) >= first.lineno]
    linked = _linked(scope, root)
    if root not in scope.names.assigned:  # a global name: any function may write to it
        functions = scope.module.symbols.functions.values()
        places = (n for f in functions for n in of_kinds(f, ast.Attribute, ast.Subscript))
        if any(_writes(scope, n, {root}, True) or _stores_to(n, root) for n in places):
            return True
    parameters = {n.arg for n in of_kinds(scope.function.args, ast.arg)}
    written = linked | parameters if linked & parameters else linked  # two parameters may be one object
    return any(_writes(scope, n, written, elements) or _leaks(scope, n, linked, elements) for n in later)


def _stores_to(node: ast.AST, root: str) -> bool:
    stored = isinstance(getattr(node, "ctx", None), ast.Store | ast.Del)
    return stored and isinstance(node, ast.Attribute) and getattr(root_of(node.value), "id", None) == root


def _linked(scope: Scope, root: str) -> set[str]:
    """Names that may share objects with ``root``: connected by assignments, but for what instructions return."""
    groups = []
    for statement in of_kinds(scope.function, ast.Assign, ast.AnnAssign, ast.For):
        if isinstance(statement, ast.Assign | ast.AnnAssign | ast.For) and not _from_nki(scope, statement):
            source = statement.iter if isinstance(statement, ast.For) else statement.value
            names = {n.id for n in of_kinds(source, ast.Name)} if source is not None else set()
            header = statement.target if isinstance(statement, ast.For) else statement
            groups.append(names | (bound_by(header) if isinstance(header, ast.stmt) else _stored(header)))
    linked, before = {root}, 0
    while len(linked) != before:
        before = len(linked)
        linked = linked.union(*(group for group in groups if group & linked))
    return linked


def _stored(node: ast.expr) -> set[str]:
    return {n.id for n in of_kinds(node, ast.Name)}


def _from_nki(scope: Scope, statement: ast.Assign | ast.AnnAssign | ast.For) -> bool:
    value = statement.iter if isinstance(statement, ast.For) else statement.value
    name = scope.qualified(value.func) if isinstance(value, ast.Call) else None
    return name is not None and name.partition(".")[0] in ("nl", "nisa", "ncc", "math", "np")


def _writes(scope: Scope, node: ast.AST, linked: set[str], elements: bool) -> bool:
    """Does a node assign to an attribute of any object (to an element of one of ``linked``)?"""
    if not isinstance(getattr(node, "ctx", None), ast.Store | ast.Del):
        return False
    if isinstance(node, ast.Attribute):
        return not elements
    root = root_of(node.value) if elements and isinstance(node, ast.Subscript) else None
    return root is not None and root.id in linked and not isinstance(scope.names.env.get(root.id), Tile | Hbm)


def _leaks(scope: Scope, node: ast.AST, linked: set[str], elements: bool) -> bool:
    """Does a call hand one of ``linked`` to something that may change it?"""
    if not isinstance(node, ast.Call) or _is_quiet(scope, node, elements):
        return False
    receiver = [node.func.value] if isinstance(node.func, ast.Attribute) else []
    given = [*receiver, *node.args, *(keyword.value for keyword in node.keywords)]
    return any(isinstance(n, ast.Name) and n.id in linked for argument in given for n in walk(argument))


def _is_quiet(scope: Scope, call: ast.Call, elements: bool, seen: tuple[ast.FunctionDef, ...] = ()) -> bool:
    """Does a call certainly change no object that it is given?"""
    name = scope.qualified(call.func)
    if name is not None:
        return name.partition(".")[0] in ("nl", "nisa", "ncc", "math", "np", "functools")
    function: ast.FunctionDef | None = None
    if isinstance(call.func, ast.Attribute):
        function = _method(scope, call.func)
        if function is None:
            return call.func.attr in _QUIET_METHODS
    elif isinstance(call.func, ast.Name):
        function = scope.module.symbols.functions.get(call.func.id)
        if function is None:
            known = getattr(builtins, call.func.id, None)
            raised = isinstance(known, type) and issubclass(known, BaseException)
            return (raised or call.func.id in _QUIET_BUILTINS) and call.func.id not in scope.module.symbols.globals
    if function is None or function in seen:
        return function is not None
    return all(
        _is_quiet(scope, n, elements, (*seen, function)) if isinstance(n, ast.Call) else not _stores(n, elements)
        for n in _body(function)
    )


def _method(scope: Scope, node: ast.Attribute) -> ast.FunctionDef | None:
    """The method that ``name.method`` means, where the source tells that ``name`` is of a class of this module."""
    classes = scope.module.symbols.classes.values()
    if not classes or not isinstance(node.value, ast.Name) or scope.names.assigned[node.value.id] != 1:
        return None
    names = {n.id for n in _told_classes(scope, node.value.id) if isinstance(n, ast.Name)}
    methods = (s for c in classes if c.name in names for s in c.body if isinstance(s, ast.FunctionDef))
    methods = (s for s in methods if s.name == node.attr)
    return next(methods, None)


def _told_classes(scope: Scope, name: str) -> list[ast.expr | None]:
    """What a name is made by, annotated with, or by default."""
    made: list[ast.expr | None] = [
        s.value.func
        for s in of_kinds(scope.function, ast.Assign)
        if isinstance(s.value, ast.Call) and name in bound_by(s)
    ]
    for argument in of_kinds(scope.function.args, ast.arg):
        if argument.arg == name:
            default = default_values(scope.function).get(argument)
            made += [argument.annotation, default.func if isinstance(default, ast.Call) else None]
    return made


def _stores(node: ast.AST, elements: bool) -> bool:
    return isinstance(node, ast.Subscript if elements else ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del)


def _body(function: ast.FunctionDef) -> Iterator[ast.AST]:
    return (node for statement in function.body for node in walk(statement))
