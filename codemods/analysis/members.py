"""Members of objects whose methods have decorators: how Beta 2 reads them, which has plain methods only."""

from __future__ import annotations

import ast
import posixpath

from ..expr.emission import Refuse
from ..syntax.codes import KERNEL_CLASSES
from ..syntax.node_index import of_kinds, walk
from ..syntax.nodes import positional_parameters
from .classes import Class, class_in, class_named, class_of, is_subclassed
from .scope import Scope


def member_text(scope: Scope, node: ast.Attribute) -> str | None:
    """How Beta 2 reads a member of an object whose method has a decorator; ``None`` when it is read as it was.

    The front end of Beta 2 would pass the object to a static method, and knows no properties.
    """
    if class_named(scope.module, node.value) is not None or not scope.module.options.enabled(KERNEL_CLASSES):
        return None
    owner = class_of(scope, node.value)
    method = owner.methods.get(node.attr) if owner is not None else None
    if owner is None or method is None or why_not(owner, method):
        return None
    if owner.kind(method) == "property":
        return f"{scope.evaluator.render(scope, node.value)}.{node.attr}()"
    if owner.kind(method) in ("classmethod", "staticmethod"):
        return f"{_local_name(scope, node, owner)}.{node.attr}"
    return None


def _local_name(scope: Scope, node: ast.Attribute, cls: Class) -> str:
    """What the module calls a class."""
    if cls.home is scope.module:
        return cls.node.name
    for name, link in scope.module.program.links[scope.module.path].items():
        if link.path == cls.home.path and link.name in ("", cls.node.name):
            return name if link.name else f"{name}.{cls.node.name}"
    message = f"'{node.attr}' of '{cls.node.name}' takes no object, and Beta 2 would pass it one"
    raise Refuse(node, KERNEL_CLASSES, message, f"import the class, and write {cls.node.name}.{node.attr}(...)")


def why_not(cls: Class, method: ast.FunctionDef) -> str:
    """Why a method cannot be written for Beta 2; empty when it can."""
    kind = cls.kind(method)
    if kind is None:
        return "has a decorator"
    if kind and (is_subclassed(cls) or cls.methods.get(method.name) is not method):
        return "has a decorator, and there is another one of its name"
    if kind == "classmethod" and not _keeps_class(method):
        return "has a decorator, and no parameter that is always the class"
    return _property_use(cls, method) if kind == "property" else ""


def _keeps_class(method: ast.FunctionDef) -> bool:
    """Has a class method a first parameter, and does that stay the class?"""
    first = [a.arg for a in positional_parameters(method)][:1]
    stores = (n for n in of_kinds(method, ast.Name) if not isinstance(n.ctx, ast.Load))
    return bool(first) and all(n.id != first[0] for n in stores)


def _property_use(cls: Class, method: ast.FunctionDef) -> str:
    """A property becomes a method where every reading of its name is one of kernel code, of an object of the class."""
    program = cls.home.program
    for module in program.modules.values():
        functions = list(of_kinds(module.source.tree, ast.FunctionDef))
        for node in walk(module.source.tree):
            if isinstance(node, ast.Constant) and node.value == method.name:  # getattr(x, "name")
                return f"is a property, and line {node.lineno} of {posixpath.basename(module.path)} may name it"
            if not isinstance(node, ast.Attribute) or node.attr != method.name:
                continue
            around = [f for f in functions if node in walk(f)]
            if not around or around[-1] not in program.kernel_code or class_in(module, around[-1], node.value) != cls:
                return (
                    f"is a property, and line {node.lineno} of {posixpath.basename(module.path)} may read it elsewhere"
                )
    return ""
