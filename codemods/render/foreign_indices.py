"""May an index be a slice, or something else than a number, that code gives which is not at hand?

``x[part]`` with ``part = rows(i)`` leaves out a dimension where ``rows`` gives a number, and keeps it where it gives a
slice: a slice of one row has as many elements, so that nothing else would tell.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..analysis.body_values import ClassItself, Thing
from ..analysis.classes import class_of
from ..expr.emission import Refuse
from ..syntax import codes
from ..syntax.given_values import given_values
from ..syntax.names import dotted
from ..syntax.node_index import indexed, of_kinds, walk
from .expressions import render_named
from .vector_calls import callee_of, is_of_package, is_unread

if TYPE_CHECKING:
    from ..analysis.classes import Class
    from ..analysis.scope import Scope
    from ..project.program import Module


def may_be_slice(scope: Scope, node: ast.expr, seen: frozenset[str] = frozenset()) -> bool:
    """Does an expression name or call what may give a slice as it is? Arithmetic gives none. ``seen`` are judged."""
    match node:
        case ast.Call(func=ast.Name(id="slice")):
            return True
        case ast.Call(func=function):
            return not _is_of_nki(scope, function) and (is_unread(scope, node) or _gives_slice(scope, node))
        case ast.IfExp(body=first, orelse=second):
            return may_be_slice(scope, first, seen) or may_be_slice(scope, second, seen)
        case ast.BoolOp(values=elements) | ast.Dict(values=elements):
            return any(may_be_slice(scope, element, seen) for element in elements)
        case ast.Subscript(value=value):
            return may_be_slice(scope, value, seen)
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            return any(may_be_slice(scope, element, seen) for element in elements)
        case ast.ListComp(elt=element):
            return may_be_slice(scope, element, seen)
        case ast.Name(id=name) if name in seen:
            return False
        case ast.Name(id=name) if name in scope.names.assigned or _is_parameter(scope, name):
            return any(may_be_slice(scope, value, seen | {name}) for value in given_values(scope.function, name))
        case ast.Attribute(value=value, attr=field) if (cls := class_of(scope, value)) is not None:
            return _holds_slice(cls, field)
        case ast.Name() | ast.Attribute():
            return _is_given(scope, node, seen)
    return False


def _gives_slice(scope: Scope, node: ast.Call) -> bool:
    """Does a function or method of these files make a slice in what it returns, or return a field that may hold one?"""
    callee = callee_of(scope, node)
    if callee is None:
        return False
    home, function, first = callee
    returned = [s.value for s in of_kinds(function, ast.Return) if s.value is not None]
    owners = [value.cls for value in first if isinstance(value, Thing | ClassItself)]
    fields = [part.attr for value in returned for part in of_kinds(value, ast.Attribute)]
    return any(_makes_slice(home, value) for value in returned) or any(
        _holds_slice(cls, field) for cls in owners for field in fields
    )


def _holds_slice(cls: Class, field: str) -> bool:
    """May a field of an object be a slice: one that the class makes, or that some call gives to make the object?"""
    own = [s for s in of_kinds(cls.node, ast.Assign, ast.AnnAssign) if field in _fields_stored(s)]
    if any(s.value is not None and _makes_slice(cls.home, s.value) for s in own):
        return True
    modules = cls.home.program.modules.values()
    made = ((m, c) for m in modules for c in of_kinds(m.source.tree, ast.Call) if _last_name(c.func) == cls.node.name)
    return any(_may_make_slice(m, part) for m, c in made for part in (*c.args, *(k.value for k in c.keywords)))


def _fields_stored(statement: ast.Assign | ast.AnnAssign) -> set[str]:
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    parts = [part for target in targets for part in of_kinds(target, ast.Attribute, ast.Name)]
    return {part.attr if isinstance(part, ast.Attribute) else part.id for part in parts}


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _makes_slice(module: Module, node: ast.AST) -> bool:
    """Does an expression make a slice?"""
    functions = (call.func for call in of_kinds(node, ast.Call))
    return any(module.symbols.host_name(f) == "nl.ds" or _last_name(f) == "slice" for f in functions)


def _may_make_slice(module: Module, node: ast.expr) -> bool:
    """Does an expression make a slice, or name what a statement of the module makes one for?"""
    named = (value for part in of_kinds(node, ast.Name) for value in given_values(module.source.tree, part.id))
    return any(_makes_slice(module, value) for value in (node, *named))


def assert_number(scope: Scope, index: ast.expr) -> None:
    """The kernel asserts that an index is a number which a helper gets from code that is not at hand."""
    if is_untold(scope, index):
        if isinstance(index, ast.BoolOp):
            what = f"it is not known what the index '{ast.unparse(index)}' is"
            raise Refuse(index, codes.INDEX_VECTORS, what, "index with a number")
        scope.assert_that(f"isinstance({render_named(scope, index)}, int)", "a number as index")


def is_untold(scope: Scope, node: ast.expr, seen: frozenset[str] = frozenset()) -> bool:
    """May an expression be what a parameter gets, which no call of these files tells? Arithmetic gives a number."""
    match node:
        case ast.Name(id=name) if name in scope.names.untold:
            return True
        case ast.Name(id=name) if name in scope.names.assigned and name not in seen:
            return any(is_untold(scope, value, seen | {name}) for value in given_values(scope.function, name))
        case ast.IfExp(body=first, orelse=second):
            return is_untold(scope, first, seen) or is_untold(scope, second, seen)
        case ast.BoolOp(values=elements) | ast.List(elts=elements) | ast.Tuple(elts=elements):
            return any(is_untold(scope, element, seen) for element in elements)
        case ast.Subscript(value=value):
            return is_untold(scope, value, seen)
    return False


def _is_of_nki(scope: Scope, function: ast.expr, seen: frozenset[str] = frozenset()) -> bool:
    """Is it a function of NKI, whichever of several: ``loop = nl.sequential_range if ordered else nl.affine_range``?"""
    match function:
        case ast.IfExp(body=first, orelse=second):
            return _is_of_nki(scope, first, seen) and _is_of_nki(scope, second, seen)
        case ast.Name(id=name) if name in scope.names.assigned and name not in seen:
            given = list(given_values(scope.function, name))
            return bool(given) and all(_is_of_nki(scope, value, seen | {name}) for value in given)
    return is_of_package(scope, function)


@indexed
def is_index(function: ast.FunctionDef, parameter: str) -> bool:
    """Does a function index something with its parameter as it is?"""
    for node in walk(function):
        if isinstance(node, ast.Subscript):
            elements = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            if any(isinstance(element, ast.Name) and element.id == parameter for element in elements):
                return True
    return False


def _is_parameter(scope: Scope, name: str) -> bool:
    return any(node.arg == name for node in of_kinds(scope.function.args, ast.arg))


def _is_given(scope: Scope, node: ast.expr, seen: frozenset[str]) -> bool:
    """May a name of a module be a slice: one that this program's modules assign, or that another package has?"""
    chain = dotted(node)
    if chain is None or is_of_package(scope, node):
        return False
    path, name = scope.module.program.origin(scope.module, node)
    home: Module = scope.module.program.modules[path]
    if (chain[0] if home is scope.module else name) in home.symbols.imports:
        return True
    own = [s for s in home.source.tree.body if not isinstance(s, ast.FunctionDef | ast.ClassDef)] if name else []
    return any(may_be_slice(scope, value, seen | {chain[0]}) for s in own for value in given_values(s, name))
