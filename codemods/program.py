"""Modules that import from each other, rewritten together: a helper's calls stand in other files, too.

Which file an import means is read off the paths: a relative import counts from the importing file's folder, an
absolute one from the nearest folder above it that holds such a file, itself or in its folder ``src``.
"""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from .names import dotted

if TYPE_CHECKING:
    from .scope import Module


@dataclass(frozen=True)
class Link:
    """An imported name: the file it comes from, its name there (empty for the module itself), and the statement."""

    path: str
    name: str
    statement: ast.Import | ast.ImportFrom


def links(tree: ast.AST, path: str, known: Collection[str]) -> dict[str, Link]:
    """What the imports of the file ``path`` bind to things of the files ``known``, by local name.

    A name that stands for different things in different places is left out.
    """
    ambiguous: set[str] = set()
    found: dict[str, Link] = {}
    for name, link in _each_link(tree, path, known):
        first = found.setdefault(name, link)
        if (first.path, first.name) != (link.path, link.name):
            ambiguous.add(name)
    return {name: link for name, link in found.items() if name not in ambiguous}


def _each_link(tree: ast.AST, path: str, known: Collection[str]) -> Iterator[tuple[str, Link]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                inside = file_of(path, node.level, ".".join(filter(None, (node.module, alias.name))), known)
                whole = file_of(path, node.level, node.module, known) if node.module else None
                if inside is not None:
                    yield alias.asname or alias.name, Link(inside, "", node)
                elif whole is not None:
                    yield alias.asname or alias.name, Link(whole, alias.name, node)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                whole = file_of(path, 0, alias.name, known) if alias.asname or "." not in alias.name else None
                if whole is not None:
                    yield alias.asname or alias.name, Link(whole, "", node)


def file_of(importer: str, level: int, dotted_name: str, known: Collection[str]) -> str | None:
    """The file among ``known`` that a module's name means in the file ``importer``."""
    folder = posixpath.dirname(posixpath.normpath(importer))
    for _ in range(level - 1):
        folder = posixpath.dirname(folder)
    folders = (
        [folder] if level else [place for above in _upwards(folder) for place in (above, posixpath.join(above, "src"))]
    )
    tail = dotted_name.replace(".", "/")
    for base in folders:
        for end in (".py", "/__init__.py"):
            candidate = posixpath.join(base, tail + end)
            if candidate in known and candidate != posixpath.normpath(importer):
                return candidate
    return None


def _upwards(folder: str) -> Iterator[str]:
    yield folder
    while folder not in ("", "/"):
        folder = posixpath.dirname(folder)
        yield folder


def components(trees: Mapping[str, ast.AST]) -> list[list[str]]:
    """The files in groups that import from each other, each group in the order given."""
    groups = {path: [path] for path in trees}
    for path, tree in trees.items():
        for _, link in _each_link(tree, path, trees.keys()):
            ours, theirs = groups[path], groups[link.path]
            if ours is not theirs:
                ours += theirs
                for member in theirs:
                    groups[member] = ours
    order = {path: number for number, path in enumerate(trees)}
    unique = {id(group): sorted(group, key=order.__getitem__) for group in groups.values()}
    return list(unique.values())


def imported(
    trees: Mapping[str, ast.AST], tree_of: Callable[[str], ast.AST | None], known: Collection[str]
) -> list[str]:
    """The files among ``known`` that the files ``trees`` import, directly or through each other."""
    found: dict[str, None] = {}
    paths = {*trees, *known}
    pending = list(trees.items())
    while pending:
        path, tree = pending.pop()
        for _, link in _each_link(tree, path, paths):
            if link.path in found or link.path in trees:
                continue
            other = tree_of(link.path)
            if other is not None:
                found[link.path] = None
                pending.append((link.path, other))
    return list(found)


class Program:
    """The modules that are rewritten together, by path."""

    def __init__(self, modules: dict[str, Module]) -> None:
        self.modules = modules
        trees = {path: module.source.tree for path, module in modules.items()}
        self.links = {path: links(tree, path, modules.keys()) for path, tree in trees.items()}
        self._bound = {path: list(_each_link(tree, path, modules.keys())) for path, tree in trees.items()}

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
            for node in ast.walk(module.source.tree)
            if isinstance(node, ast.ClassDef)
            for base in node.bases
        }

    @cached_property
    def decorated_methods(self) -> set[str]:
        """The names of methods with decorators, of any class."""
        found = (c for module in self.modules.values() for c in module.classes.values())
        return {s.name for c in found for s in c.body if isinstance(s, ast.FunctionDef) and s.decorator_list}

    @cached_property
    def reached(self) -> set[ast.FunctionDef]:
        """The kernels, and all functions and methods of classes that they name, directly or through others."""
        found: set[ast.FunctionDef] = set()
        pending = [(m, f) for m in self.modules.values() for f in m.functions.values() if m.is_kernel(f)]
        while pending:
            module, function = pending.pop()
            if function in found:
                continue
            found.add(function)
            for node in ast.walk(function):
                if isinstance(node, ast.Name | ast.Attribute):
                    pending += self._named(module, node)
                elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
                    pending += self._named(module, ast.Name(node.value, ast.Load()))  # an annotation
        return found

    def _named(self, module: Module, node: ast.expr) -> list[tuple[Module, ast.FunctionDef]]:
        """The function, or the methods of the class, that an expression names."""
        path, name = self.origin(module, node)
        home = self.modules[path]
        function, cls = home.functions.get(name), home.classes.get(name)
        methods = [s for s in cls.body if isinstance(s, ast.FunctionDef)] if cls is not None else []
        return [(home, f) for f in ([function] if function is not None else methods)]

    @cached_property
    def assigned_attributes(self) -> set[str]:
        """The attributes that any code assigns to, or deletes."""
        nodes = (node for module in self.modules.values() for node in ast.walk(module.source.tree))
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
