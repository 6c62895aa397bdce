"""Kernel code across files: what a kernel of one file calls in another one is kernel code there."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import PurePath

from .classes import read_methods
from .names import Function, Module, module_of
from .reach import kernels, references, visible


def kernel_names(trees: Mapping[str, ast.Module]) -> dict[str, frozenset[str]]:
    """For each file the names of the definitions that kernels of other files reach; ``trees`` are keyed by path."""
    modules = {path: module_of(tree) for path, tree in trees.items()}
    files = _Files(modules)
    found: dict[str, set[str]] = {path: set() for path in modules}
    seen: set[int] = set()
    work = [(path, item.node) for path, module in modules.items() for item in kernels(module)]
    while work:
        path, node = work.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        module = modules[path]
        work += [(path, module.definitions[name]) for name in references(module, node)]
        for name in _imported(module, node):
            for other, definition in files.definitions(path, name):
                found[other].add(definition)
                work.append((other, modules[other].definitions[definition]))
    return {path: frozenset(names) for path, names in found.items()}


def _imported(module: Module, node: Function | ast.ClassDef) -> set[str]:
    """Qualified names that ``node`` reads."""
    functions = read_methods(node) if isinstance(node, ast.ClassDef) else [node]
    names = {
        module.qualified(below)
        for function in functions
        for root in [*function.body, *function.args.defaults]
        for below in visible(root)
        if isinstance(below, (ast.Name, ast.Attribute)) and isinstance(below.ctx, ast.Load)
    }
    return {name for name in names if name is not None}


class _Files:
    """Finds the definition that an import names."""

    def __init__(self, modules: Mapping[str, Module]) -> None:
        self._modules = modules
        self._by_last: dict[str, list[tuple[tuple[str, ...], str]]] = {}
        for path in modules:
            parts = _dotted_parts(path)
            if parts:
                self._by_last.setdefault(parts[-1], []).append((parts, path))

    def definitions(self, path: str, name: str, depth: int = 8) -> list[tuple[str, str]]:
        """``(file, definition)`` for the qualified ``name`` used in ``path``; follows re-exports, at most ``depth``
        of them."""
        owner, _, last = name.rpartition(".")
        found: list[tuple[str, str]] = []
        for other in self._files(path, owner) if owner and depth else []:
            module = self._modules[other]
            if last in module.definitions:
                found.append((other, last))
            elif last in module.imports:
                found += self.definitions(other, module.imports[last], depth - 1)
        return found

    def _files(self, path: str, module: str) -> list[str]:
        """Files that may be ``module`` (dotted, or relative with leading dots), seen from ``path``."""
        plain = module.lstrip(".")
        wanted = tuple(plain.split(".")) if plain else ()
        level = len(module) - len(plain)
        if level:
            folder = PurePath(path).parts[:-1]
            wanted = (*folder[: len(folder) - level + 1], *wanted)
            return [file for parts, file in self._by_last.get(wanted[-1] if wanted else "", []) if parts == wanted]
        candidates = self._by_last.get(wanted[-1], []) if wanted else []
        return [file for parts, file in candidates if parts[-len(wanted) :] == wanted]


def _dotted_parts(path: str) -> tuple[str, ...]:
    """``a/b/c.py`` is ``a.b.c``, ``a/b/__init__.py`` is ``a.b``."""
    parts = PurePath(path).with_suffix("").parts
    return parts[:-1] if parts and parts[-1] == "__init__" else parts
