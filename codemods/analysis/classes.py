"""Which class of the user's an object is of: told by annotations, by constructors, and by what functions return.

An annotation is taken at its word. What has subclasses in these files is of no known class: a method of it may be
another one.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from ..expr.values import DType, Hbm, Python, Tile
from ..syntax.names import dotted
from ..syntax.node_index import indexed, of_kinds, walk
from ..syntax.nodes import default_values, positional_parameters

if TYPE_CHECKING:
    from ..project.program import Module
    from .scope import Scope

_DEPTH = 8
_CONTAINERS = set("list dict set sequence mutablesequence iterable mapping mutablemapping any object deque".split())


@dataclass(frozen=True)
class Class:
    """A class of the program, and the module that defines it."""

    home: Module = field(compare=False)
    node: ast.ClassDef

    @cached_property
    def methods(self) -> dict[str, ast.FunctionDef]:
        """The functions of the body, by name; one that is defined twice is left out."""
        found = [s for s in self.node.body if isinstance(s, ast.FunctionDef)]
        names = [s.name for s in found]
        return {s.name: s for s in found if names.count(s.name) == 1}

    @cached_property
    def fields(self) -> dict[str, ast.AnnAssign]:
        """The annotated names of the body, in order."""
        return {
            s.target.id: s for s in self.node.body if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name)
        }

    @cached_property
    def base_names(self) -> tuple[str, ...]:
        return tuple(self.home.symbols.decorator(base) or ast.unparse(base) for base in self.node.bases)

    @property
    def is_named_tuple(self) -> bool:
        return self.base_names == ("typing.NamedTuple",)

    @cached_property
    def is_dataclass(self) -> bool:
        return any(self.home.symbols.decorator(d) == "dataclasses.dataclass" for d in self.node.decorator_list)

    @cached_property
    def is_frozen(self) -> bool:
        """Do the fields of an object keep what its constructor gave them?"""
        for decorator in self.node.decorator_list:
            if self.home.symbols.decorator(decorator) == "dataclasses.dataclass" and isinstance(decorator, ast.Call):
                given = {k.arg: k.value for k in decorator.keywords}
                frozen = given.get("frozen")
                if isinstance(frozen, ast.Constant) and frozen.value is True:
                    return not any(_bypasses(n) for n in walk(self.node))
        return self.is_named_tuple

    def is_plain_field(self, name: str) -> bool:
        """Does a field hold a number, an object or a tensor, as its annotation says, and no container?"""
        field = self.fields.get(name)
        if field is None:
            return False
        names = {n.id for n in of_kinds(field.annotation, ast.Name)}
        names |= {n.attr for n in of_kinds(field.annotation, ast.Attribute)}
        texts = [n.value for n in of_kinds(field.annotation, ast.Constant)]
        words = {word for text in texts if isinstance(text, str) for word in re.findall(r"\w+", text)}
        return not {name.lower() for name in names | words} & _CONTAINERS

    def kind(self, method: ast.FunctionDef) -> str | None:
        """``"classmethod"``, ``"staticmethod"``, ``"property"``, empty for a plain method, ``None`` for any other."""
        if not method.decorator_list:
            return ""
        [decorator, *others] = method.decorator_list
        name = decorator.id if isinstance(decorator, ast.Name) else ""
        known = name in ("classmethod", "staticmethod", "property") and name not in self.home.symbols.rebound
        return name if known and not others else None


def _bypasses(node: ast.AST) -> bool:
    """``object.__setattr__(self, ...)`` writes to frozen objects, too."""
    return isinstance(node, ast.Attribute) and node.attr in ("__setattr__", "__dict__")


def class_named(module: Module, node: ast.expr | None) -> Class | None:
    """The class of the program that a name, or the annotation of an object, means: ``C``, ``"C"``, ``Optional[C]``."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        try:
            return class_named(module, ast.parse(node.value, mode="eval").body)
        except SyntaxError:
            return None
    if isinstance(node, ast.Subscript) and (module.symbols.decorator(node.value) or "") == "typing.Optional":
        return class_named(module, node.slice)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        sides = [s for s in (node.left, node.right) if not (isinstance(s, ast.Constant) and s.value is None)]
        return class_named(module, sides[0]) if len(sides) == 1 else None
    if not isinstance(node, ast.Name | ast.Attribute):
        return None
    path, name = module.program.origin(module, node)
    home = module.program.modules[path]
    found = home.symbols.classes.get(name)
    return Class(home, found) if found is not None and name not in home.symbols.rebound else None


def is_subclassed(cls: Class) -> bool:
    """Does a class of these files derive from it?"""
    return (cls.home.path, cls.node.name) in cls.home.program.bases


def class_of(scope: Scope, node: ast.expr) -> Class | None:
    """The class of the object that an expression of the function is; ``None`` where that is not known."""
    return class_in(scope.module, scope.function, node)


def class_in(module: Module, function: ast.FunctionDef, node: ast.expr) -> Class | None:
    """The class of the object that an expression of a function of the module is."""
    if not module.program.has_classes:
        return None
    found = _class_of(module, function, node, _DEPTH)
    return None if found is None or is_subclassed(found) else found


def returned_class(module: Module, function: ast.FunctionDef) -> Class | None:
    """The class of what a function returns."""
    found = _returned(module, function, _DEPTH)
    return None if found is None or is_subclassed(found) else found


def field_class(cls: Class, name: str) -> Class | None:
    """The class of the objects in a field."""
    field = cls.fields.get(name)
    found = class_named(cls.home, field.annotation) if field is not None else None
    return None if found is None or is_subclassed(found) else found


def owner_class(module: Module, function: ast.FunctionDef) -> Class | None:
    """The class that a method stands in."""
    holders = (n for n in module.symbols.classes.values() if function in n.body)
    return next((Class(module, node) for node in holders), None)


def _class_of(module: Module, function: ast.FunctionDef, node: ast.expr, depth: int) -> Class | None:
    if not depth:
        return None
    if isinstance(node, ast.Name):
        place = function, node.id
        if place not in module.summaries.object_classes:
            module.summaries.object_classes[place] = None  # for what asks again on the way
            module.summaries.object_classes[place] = _of_name(module, function, node.id, _DEPTH)
        found: Class | None = module.summaries.object_classes[place]
        return found
    if isinstance(node, ast.Attribute):
        owner = _class_of(module, function, node.value, depth - 1)
        field = owner.fields.get(node.attr) if owner is not None else None
        return class_named(owner.home, field.annotation) if owner is not None and field is not None else None
    if isinstance(node, ast.Call):
        return _of_call(module, function, node, depth - 1)
    if isinstance(node, ast.IfExp):
        a, b = (_class_of(module, function, side, depth - 1) for side in (node.body, node.orelse))
        return a if a == b else None
    return None


def _of_name(module: Module, function: ast.FunctionDef, name: str, depth: int) -> Class | None:
    arguments = [n for n in of_kinds(function.args, ast.arg) if n.arg == name]
    values = _assigned(function, name)
    if arguments:
        return None if values else _of_parameter(module, function, arguments[0], depth)
    if not values:
        return _of_global(module, name, depth)
    found = [_class_of(module, function, v, depth) if v is not None else None for v in values]
    return found[0] if all(f is not None and f == found[0] for f in found) else None


def _of_parameter(module: Module, function: ast.FunctionDef, argument: ast.arg, depth: int) -> Class | None:
    owner = owner_class(module, function)
    positional = positional_parameters(function)
    if owner is not None and positional[:1] == [argument] and owner.kind(function) in ("", "property"):
        return owner
    told = class_named(module, argument.annotation)
    default = default_values(function).get(argument)
    return told or (_class_of(module, function, default, depth) if isinstance(default, ast.Call) else None)


def _of_global(module: Module, name: str, depth: int) -> Class | None:
    """The class of an object that a module makes once, at its top level."""
    path, origin = module.program.origin(module, ast.Name(name, ast.Load()))
    if path != module.path:
        return _of_global(module.program.modules[path], origin, depth - 1) if origin and depth else None
    values = _assigned(module.source.tree, name)
    made = values[0] if len(values) == 1 else None
    return _of_call(module, None, made, depth) if isinstance(made, ast.Call) else None


def _of_call(module: Module, function: ast.FunctionDef | None, node: ast.Call, depth: int) -> Class | None:
    """What a constructor makes, or what a function or method returns."""
    made = class_named(module, node.func) or (_own_class(module, function, node.func) if function else None)
    if made is not None:
        return made
    if isinstance(node.func, ast.Attribute):
        owner = class_named(module, node.func.value)
        if owner is None and function is not None:
            owner = _own_class(module, function, node.func.value)
            owner = owner or _class_of(module, function, node.func.value, depth)
        method = owner.methods.get(node.func.attr) if owner is not None else None
        if owner is not None and method is not None and owner.kind(method) in ("", "classmethod", "staticmethod"):
            return _returned(owner.home, method, depth)
    chain = dotted(node.func)
    own = module.symbols.functions.get(chain[0]) if chain is not None and not chain[1] else None
    found = (module, own) if own is not None else module.program.function(module, node.func)
    return _returned(*found, depth) if found is not None else None


def _own_class(module: Module, function: ast.FunctionDef, node: ast.expr) -> Class | None:
    """The class that ``cls`` of a class method is."""
    owner = owner_class(module, function)
    first = positional_parameters(function)[:1]
    named = isinstance(node, ast.Name) and [node.id] == [a.arg for a in first] and not _assigned(function, node.id)
    return owner if owner is not None and named and owner.kind(function) == "classmethod" else None


def _returned(module: Module, function: ast.FunctionDef, depth: int) -> Class | None:
    """What a function says that it returns, or what all its ``return`` statements make."""
    told = class_named(module, function.returns)
    if told is not None:
        return told
    values = [n.value for n in of_kinds(function, ast.Return)]
    found = [_class_of(module, function, v, depth) if v is not None else None for v in values]
    return found[0] if found and all(f is not None and f == found[0] for f in found) else None


def _assigned(root: ast.FunctionDef | ast.Module, name: str) -> list[ast.expr | None]:
    """What a function or module binds a name to, ``None`` for anything but a plain assignment."""
    return _bindings(root).get(name, [])


@indexed
def _bindings(root: ast.FunctionDef | ast.Module) -> dict[str, list[ast.expr | None]]:
    values: dict[str, list[ast.expr | None]] = {}
    stores: Counter[str] = Counter()
    for node in walk(root):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            stores[node.id] += 1
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if len(targets) == 1 and isinstance(targets[0], ast.Name):
                values.setdefault(targets[0].id, []).append(node.value)
    return {name: [*values.get(name, []), *[None] * (n - len(values.get(name, [])))] for name, n in stores.items()}


_PLAIN = {"int", "float", "bool", "str"}


def never_none(scope: Scope, node: ast.expr) -> bool:
    """Is an expression of the function certainly not ``None``?"""
    if isinstance(node, ast.Constant):
        return node.value is not None
    if isinstance(node, ast.Name):
        value = scope.names.env.get(node.id)
        if isinstance(value, Hbm | Tile | DType) or (isinstance(value, Python) and value.positive):
            return True
        arguments = [a for a in of_kinds(scope.function.args, ast.arg) if a.arg == node.id]
        defaults = default_values(scope.function)
        told = any(_is_told(scope.module, a.annotation, defaults.get(a)) for a in arguments)
        return told and scope.names.assigned[node.id] == 1
    if isinstance(node, ast.Attribute):
        owner = class_of(scope, node.value)
        field = owner.fields.get(node.attr) if owner is not None and owner.is_frozen else None
        told = field is not None and owner is not None and _is_told(owner.home, field.annotation, field.value)
        return told or (scope.qualified(node) or "").startswith("nl.tile_size.")
    return isinstance(node, ast.BinOp | ast.UnaryOp | ast.Compare | ast.JoinedStr | ast.Tuple | ast.List)


def _is_told(module: Module, annotation: ast.expr | None, default: ast.expr | None) -> bool:
    """Does an annotation name a plain type, or a class of the program, and the default not say otherwise?"""
    if isinstance(default, ast.Constant) and default.value is None:
        return False
    if isinstance(annotation, ast.Name) and annotation.id in _PLAIN:
        return True
    return isinstance(annotation, ast.Name) and class_named(module, annotation) is not None
