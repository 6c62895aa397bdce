"""Named tuples that are used as objects with fields, and as nothing else: not unpacked, not indexed, not compared.

Whatever is not seen to be harmless counts as the use of a tuple.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..syntax.names import dotted
from ..syntax.node_index import children, walk
from ..syntax.nodes import default_values, positional_parameters
from .classes import Class, class_in, class_named, field_class, returned_class

if TYPE_CHECKING:
    from ..project.program import Module, Program

_READERS = {"print", "repr", "str", "isinstance", "type", "id"}
_TUPLE_MEMBERS = {"count", "index"}
_NO_FUNCTION = next(n for n in walk(ast.parse("def module(): pass")) if isinstance(n, ast.FunctionDef))


def tuple_use(program: Program, cls: Class) -> tuple[Module, ast.AST] | None:
    """Where an object of the class may be used as a tuple; ``None`` where no place is found."""
    for module in program.modules.values():
        parents = {child: node for node in walk(module.source.tree) for child in children(node)}
        for function, node in _expressions(module.source.tree, _NO_FUNCTION):
            if class_named(module, node) == cls and not _names_class(node, parents):
                return module, node
            if class_in(module, function, node) == cls and not _is_object_use(module, function, cls, node, parents):
                return module, node
    return None


def _expressions(root: ast.AST, function: ast.FunctionDef) -> Iterator[tuple[ast.FunctionDef, ast.expr]]:
    """The names, attributes, calls and choices of a tree that are read, each with the function that it stands in."""
    for node in children(root):
        if isinstance(node, ast.FunctionDef):
            yield from _expressions(node, node)
            continue
        read = isinstance(getattr(node, "ctx", None) or ast.Load(), ast.Load)
        if isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.IfExp) and read:
            yield function, node
        yield from _expressions(node, function)


def _names_class(node: ast.expr, parents: dict[ast.AST, ast.AST]) -> bool:
    """Does the name of the class stand where it makes an object, or says what something is?"""
    parent = parents[node]
    if isinstance(parent, ast.Call) and parent.func is node:
        return True
    if isinstance(parent, ast.Attribute):
        return not parent.attr.startswith("_")
    while isinstance(parent, ast.Subscript | ast.BinOp | ast.Tuple | ast.List):
        node, parent = parent, parents[parent]
    if isinstance(parent, ast.arg | ast.AnnAssign | ast.FunctionDef):
        return node in (getattr(parent, "annotation", None), getattr(parent, "returns", None))
    reader = parent.func if isinstance(parent, ast.Call) else None
    return isinstance(reader, ast.Name) and reader.id == "isinstance"


def _is_object_use(
    module: Module, function: ast.FunctionDef, cls: Class, node: ast.expr, parents: dict[ast.AST, ast.AST]
) -> bool:
    """Is an object taken as one: a field or method of it, or as a whole to where its class is known?"""
    parent = parents[node]
    if isinstance(parent, ast.Attribute):
        return not parent.attr.startswith("_") and parent.attr not in _TUPLE_MEMBERS
    if isinstance(parent, ast.keyword):
        node, parent = parent.value, parents[parent]
    if isinstance(parent, ast.Call):
        return node is not parent.func and _is_taken(module, function, cls, parent, node)
    if isinstance(parent, ast.Return):
        return returned_class(module, function) == cls
    if isinstance(parent, ast.Assign | ast.AnnAssign):
        targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target]
        return all(class_in(module, function, target) == cls for target in targets)
    if isinstance(parent, ast.arguments):
        given = [a.arg for a, default in default_values(function).items() if default is node]
        return [class_in(module, function, ast.Name(name, ast.Load())) for name in given] == [cls]
    if isinstance(parent, ast.Compare):
        return all(isinstance(operator, ast.Is | ast.IsNot) for operator in parent.ops)
    if isinstance(parent, ast.IfExp):
        return node is not parent.test and class_in(module, function, parent) == cls
    return isinstance(parent, ast.Expr | ast.FormattedValue)


def _is_taken(module: Module, function: ast.FunctionDef, cls: Class, call: ast.Call, node: ast.expr) -> bool:
    """Does what is called take the argument for an object of the class?"""
    made = class_named(module, call.func)
    names = {k.arg for k in call.keywords if k.value is node}
    place = call.args.index(node) if node in call.args else -1
    if made is not None:
        name = next(iter(names), None) or (list(made.fields) + [""] * len(call.args))[place]
        return field_class(made, name) == cls
    if isinstance(call.func, ast.Name) and call.func.id in _READERS:
        return True
    callee = _callee(module, function, call.func)
    if callee is None:
        return False
    home, target, skipped = callee
    parameters = [a.arg for a in positional_parameters(target)][skipped:]
    name = next(iter(names), None) or (parameters[place] if 0 <= place < len(parameters) else "")
    return bool(name) and class_in(home, target, ast.Name(name, ast.Load())) == cls


def _callee(module: Module, function: ast.FunctionDef, node: ast.expr) -> tuple[Module, ast.FunctionDef, int] | None:
    """The function that is called, and how many parameters it has before the arguments."""
    chain = dotted(node)
    own = module.symbols.functions.get(chain[0]) if chain is not None and not chain[1] else None
    if own is not None:
        return module, own, 0
    other = module.program.function(module, node)
    if other is not None or not isinstance(node, ast.Attribute):
        return (*other, 0) if other is not None else None
    named = class_named(module, node.value)
    owner = named or class_in(module, function, node.value)
    method = owner.methods.get(node.attr) if owner is not None else None
    if owner is None or method is None or owner.kind(method) not in ("", "classmethod", "staticmethod"):
        return None
    plain = owner.kind(method) == "" and named is not None  # C.method(object)
    return owner.home, method, 0 if plain or owner.kind(method) == "staticmethod" else 1
