"""Modules that import from each other, rewritten together: a helper's calls stand in other files, too."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from .kernel_code import KernelCode, kernel_code
from .links import each_link, links
from .names import dotted
from .node_index import of_kinds, walk

if TYPE_CHECKING:
    from .scope import Module


class Program:
    """The modules that are rewritten together, by path."""

    def __init__(self, modules: dict[str, Module]) -> None:
        self.modules = modules
        trees = {path: module.source.tree for path, module in modules.items()}
        self.links = {path: links(tree, path, modules.keys()) for path, tree in trees.items()}
        self._bound = {path: list(each_link(tree, path, modules.keys())) for path, tree in trees.items()}

    @cached_property
    def has_classes(self) -> bool:
        return any(module.classes for module in self.modules.values())

    @cached_property
    def hides_shapes(self) -> bool:
        from .one_shape import hides_shapes

        return hides_shapes(module.source.tree for module in self.modules.values())

    @cached_property
    def bases(self) -> set[tuple[str, str]]:
        """The classes that others derive from: their file, and their name there."""
        return {
            self.origin(module, base)
            for module in self.modules.values()
            for node in of_kinds(module.source.tree, ast.ClassDef)
            for base in node.bases
        }

    @cached_property
    def decorated_methods(self) -> set[str]:
        """The names of methods with decorators, of any class."""
        found = (c for module in self.modules.values() for c in module.classes.values())
        return {s.name for c in found for s in c.body if isinstance(s, ast.FunctionDef) and s.decorator_list}

    @cached_property
    def kernel_code(self) -> KernelCode:
        """What of these modules is kernel code, and why."""
        return kernel_code({path: module.source.tree for path, module in self.modules.items()})

    @cached_property
    def assigned_attributes(self) -> set[str]:
        """The attributes that any code assigns to, or deletes."""
        nodes = (node for module in self.modules.values() for node in walk(module.source.tree))
        return {n.attr for n in nodes if isinstance(n, ast.Attribute) and not isinstance(n.ctx, ast.Load)}

    def function(self, module: Module, node: ast.expr) -> tuple[Module, ast.FunctionDef] | None:
        """The function of another module that a name or ``module.name`` means."""
        chain = dotted(node)
        if chain is None or len(chain[1]) > 1:
            return None
        return self._resolved(module, chain[0], chain[1][0] if chain[1] else "", set())

    def _resolved(
        self, module: Module, name: str, attribute: str, seen: set[tuple[str, str]]
    ) -> tuple[Module, ast.FunctionDef] | None:
        """Follows names that modules hand on."""
        link = self.links[module.path].get(name)
        if link is None or bool(attribute) == bool(link.name) or (module.path, name) in seen:
            return None
        home, target = self.modules[link.path], link.name or attribute
        function = home.functions.get(target)
        if function is not None:
            return home, function
        return self._resolved(home, target, "", {*seen, (module.path, name)})

    def origin(self, module: Module, node: ast.AST) -> tuple[str, str]:
        """The file and the name there that a name, or ``module.name``, means; its own file for what is not imported."""
        chain = dotted(node)
        if chain is None:
            return module.path, ""
        name, attributes = chain
        link = self.links[module.path].get(name)
        if link is None:
            return module.path, "" if attributes else name
        if link.name:
            return link.path, "" if attributes else link.name
        return link.path, attributes[0] if len(attributes) == 1 else ""

    def users(self, module: Module, name: str) -> Iterator[tuple[Module, str]]:
        """The other modules that import ``name`` of a module, and what they call it."""
        for path, bound in self._bound.items():
            for local, link in bound:
                if (link.path, link.name) == (module.path, name):
                    yield self.modules[path], local
                elif (link.path, link.name) == (module.path, ""):
                    yield self.modules[path], f"{local}.{name}"
