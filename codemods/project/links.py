"""Which file an import means, read off the paths.

A relative import counts from the importing file's folder, an absolute one from the nearest folder above it that holds
such a file, itself or in its folder ``src``.
"""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from nki_migrate.runtime.spec.grammar import statements

from ..syntax.node_index import indexed, indexed_together, of_kinds


@dataclass(frozen=True)
class Link:
    """An imported name: the file it comes from, its name there (empty for the module itself), and the statement."""

    path: str
    name: str
    statement: ast.Import | ast.ImportFrom


@indexed_together
def links_between(trees: Mapping[str, ast.Module]) -> dict[str, list[tuple[str, Link]]]:
    """What the imports of each of some files bind to things of the others: local names and links, in their order."""
    known = frozenset(trees)
    return {path: _links_of(tree, path, known) for path, tree in trees.items()}


@indexed
def _links_of(tree: ast.Module, path: str, known: frozenset[str]) -> list[tuple[str, Link]]:
    return list(each_link(tree, path, known))


def links(bound: Iterable[tuple[str, Link]]) -> dict[str, Link]:
    """The links of one file by local name.

    A name that stands for different things in different places is left out.
    """
    ambiguous: set[str] = set()
    found: dict[str, Link] = {}
    for name, link in bound:
        first = found.setdefault(name, link)
        if (first.path, first.name) != (link.path, link.name):
            ambiguous.add(name)
    return {name: link for name, link in found.items() if name not in ambiguous}


def each_link(tree: ast.AST, path: str, known: Collection[str]) -> Iterator[tuple[str, Link]]:
    for node in of_kinds(tree, ast.Import, ast.ImportFrom):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                inside = file_of(path, node.level, ".".join(filter(None, (node.module, alias.name))), known)
                whole = file_of(path, node.level, node.module, known) if node.module else None
                if inside is not None:
                    yield alias.asname or alias.name, Link(inside, "", node)
                elif whole is not None:
                    yield alias.asname or alias.name, Link(whole, alias.name, node)
        else:
            for alias in node.names:
                whole = file_of(path, 0, alias.name, known) if alias.asname or "." not in alias.name else None
                if whole is not None:
                    yield alias.asname or alias.name, Link(whole, "", node)


def imports_alone(tree: ast.Module) -> ast.Module:
    """The import statements of a file in a tree of their own, a hundredth of the whole: links are read from nothing
    else."""
    return ast.Module([node for node in statements(tree) if isinstance(node, (ast.Import, ast.ImportFrom))], [])


def file_of(importer: str, level: int, dotted_name: str, known: Collection[str]) -> str | None:
    """The file among ``known`` that a module's name means in the file ``importer``."""
    own, starts = _starts(importer, level)
    tail = dotted_name.replace(".", "/")
    for start in starts:
        for end in (".py", "/__init__.py"):
            candidate = f"{start}{tail}{end}"
            if candidate in known and candidate != own:
                return candidate
    return None


@lru_cache(maxsize=1024)
def _starts(importer: str, level: int) -> tuple[str, tuple[str, ...]]:
    """The file that imports, by its normal name, and what the paths that an import of it may mean begin with."""
    own = posixpath.normpath(importer)
    folder = posixpath.dirname(own)
    for _ in range(level - 1):
        folder = posixpath.dirname(folder)
    folders = [folder] if level else [p for above in _upwards(folder) for p in (above, posixpath.join(above, "src"))]
    return own, tuple(posixpath.join(each, "") for each in folders)


def _upwards(folder: str) -> Iterator[str]:
    yield folder
    while folder not in ("", "/"):
        folder = posixpath.dirname(folder)
        yield folder


def components(trees: Mapping[str, ast.AST]) -> list[list[str]]:
    """The files in groups that import from each other, each group in the order given."""
    groups = {path: [path] for path in trees}
    for path, tree in trees.items():
        for _, link in each_link(tree, path, trees.keys()):
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
        for _, link in each_link(tree, path, paths):
            if link.path in found or link.path in trees:
                continue
            other = tree_of(link.path)
            if other is not None:
                found[link.path] = None
                pending.append((link.path, other))
    return list(found)


def importing(trees: Iterable[str], known: Mapping[str, ast.AST]) -> list[str]:
    """The files among ``known`` that import one of the files ``trees``, be it from a package that imports it."""
    found: dict[str, None] = {}
    wanted, paths = set(trees), {*trees, *known}
    while wanted:
        more = [
            path
            for path, tree in known.items()
            if path not in found and any(link.path in wanted for _, link in each_link(tree, path, paths))
        ]
        found |= dict.fromkeys(more)
        wanted = {path for path in more if posixpath.basename(path) == "__init__.py"}
    return list(found)


def around(trees: Mapping[str, ast.Module], paths: Collection[str]) -> list[str]:
    """The files ``paths``, those that import them, and those that all of these import, directly or through others.

    They have the order of ``trees``.
    """
    bound = {path: {link.path for _, link in found} for path, found in links_between(trees).items()}
    found, more = set(paths), set(paths)
    while more:
        more = {path for path, others in bound.items() if path not in found and others & more}
        found |= more
    more = found
    while more:
        more = {other for path in more for other in bound[path]} - found
        found |= more
    return [path for path in trees if path in found]
