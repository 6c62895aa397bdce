"""Which files are rewritten together: those that import from each other, and where shipped kernels' homes are."""

from __future__ import annotations

import ast
import os
import posixpath
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nki_migrate import codemods
from nki_migrate.codemods import components
from nki_migrate.codemods.project.links import imported, importing
from nki_migrate.codemods.syntax.node_index import trees_kept
from nki_migrate.runtime.spec.grammar import statements
from nki_migrate.runtime.spec.launchers import KERNEL_DECORATORS

from .errors import FileError
from .reports import Report, parsed
from .text import decoded

if TYPE_CHECKING:
    from nki_migrate.codemods.model import Options
    from nki_migrate.codemods.project.vendor_kernels import Homes

LARGE = 300_000
"""A file of more bytes is rewritten with nothing beside it: its trees take some hundred times as many."""
_ACTING = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.Call)

_DECORATORS = {name.rpartition(".")[2] for name in KERNEL_DECORATORS}

Work = tuple[int, str, bytes]
"""One file: its place among the files, its path, its bytes."""


@dataclass(frozen=True)
class Head:
    """What is kept of a file's tree: its imports, and the names of shipped kernels that it uses, if it uses any.

    ``kernels`` are the names of its functions that host code launches. ``is_data``: it only binds names to values that
    it writes out. Nothing in it runs in a kernel or launches one.
    """

    imports: ast.Module
    names: frozenset[str]
    uses_shipped: bool
    kernels: frozenset[str]
    is_data: bool


Heads = Callable[[list[bytes]], Iterable[Head]]
"""Reads the heads of files, in their order."""


def heads(files: list[bytes]) -> Iterator[Head]:
    """The heads of files, read in this process."""
    return map(head, files)


@trees_kept()
def head(data: bytes) -> Head:
    """The head of a file."""
    tree = _tree(data)
    alone = codemods.imports_alone(tree)
    uses = codemods.imports_shipped(alone)
    names = frozenset(codemods.shipped_names(tree)) if uses else frozenset()
    is_data = len(data) > LARGE and not any(isinstance(node, _ACTING) for node in ast.walk(tree))
    return Head(alone, names, uses, frozenset(_kernels(tree)), is_data)


def _kernels(tree: ast.Module) -> Iterator[str]:
    """The names of functions with a decorator that makes kernels."""
    for node in statements(tree):
        for decorator in node.decorator_list if isinstance(node, ast.FunctionDef) else ():
            named = decorator.func if isinstance(decorator, ast.Call) else decorator
            last = named.attr if isinstance(named, ast.Attribute) else getattr(named, "id", "")
            if last in _DECORATORS:
                yield node.name  # type: ignore[union-attr]  # a function


@trees_kept()
def grouped_files(
    work: list[Work], skipped: dict[int, Report], options: Options, read: Heads = heads
) -> tuple[list[list[Work]], Mapping[str, Homes] | None]:
    """The files, with those that they import, in groups that import from each other, and the homes of shipped kernels.

    No process holds the trees of all of them at once: what is kept of most are their imports. A large file of data is
    a group of its own: to what is rewritten beside it, its names are those of a module that is not there.
    """
    if len(work) + len(skipped) < 2:
        return [[item] for item in work], _homes({}, skipped, options)
    found = dict(zip(map(name_of, work), read([data for _, _, data in work]), strict=True))
    trees = _few_trees(work, found)
    homes = _homes(trees, skipped, options)
    trees |= _with_imports(work, homes, options)
    data = [name for name, each in found.items() if each.is_data]
    further = [*_launching(found, skipped), *_imported(trees, skipped)]
    files = {name_of(item): item for item in [*work, *further]}
    trees |= {name_of(item): codemods.imports_alone(_tree(item[2])) for item in further}
    return _groups(list(files.values()), trees, data), homes


def _few_trees(work: list[Work], found: Mapping[str, Head]) -> dict[str, ast.Module]:
    """The trees of files that use kernels of ``neuronxcc``'s or may define them, and of others the imports."""
    names = {name for each in found.values() for name in each.names}
    defined = re.compile(rf"\b(def|class)[\s\\]+({'|'.join(names)})\b".encode()) if names else None
    whole = {
        n: d
        for n, d in ((name_of(item), item[2]) for item in work)
        if found[n].uses_shipped or (defined is not None and defined.search(d))
    }
    return {name: each.imports if name not in whole else _tree(whole[name]) for name, each in found.items()}


def _homes(trees: dict[str, ast.Module], skipped: dict[int, Report], options: Options) -> Mapping[str, Homes] | None:
    """The modules that have the kernels which files import from ``neuronxcc``; ``None`` for files that stand alone.

    They may be Beta 2 already.
    """
    from nki_migrate.codemods import homes, shipped_names

    if not trees:
        return None
    words = [f"def {name}".encode() for tree in trees.values() for name in shipped_names(tree)]
    plain = {name_of((0, report.path, b"")): report.before or b"" for report in skipped.values()}
    further = {path: _tree(data) for path, data in plain.items() if any(word in data for word in words)}
    return homes(trees | further, {*trees, *plain}, options.modules)


def _with_imports(work: list[Work], homes: Mapping[str, Homes] | None, options: Options) -> dict[str, ast.Module]:
    """The trees of the files whose imports of kernels will be others, as they will be."""
    from nki_migrate.codemods import with_imports

    changed = [item for item in work if homes is not None and name_of(item) in homes]
    texts = {name_of(item): parsed(item[2])[0].text for item in changed}
    return {name: ast.parse(with_imports(text, (homes or {})[name], options)) for name, text in texts.items()}


def _launching(found: Mapping[str, Head], skipped: dict[int, Report]) -> list[Work]:
    """The files that do not name NKI, but import files that do, and name kernels of theirs: they may launch these."""
    names = {name.encode() for each in found.values() for name in each.kernels}
    if not names:
        return []
    named = re.compile(rb"\b(" + b"|".join(map(re.escape, sorted(names))) + rb")\b")
    plain = [(index, report.path, report.before or b"") for index, report in skipped.items()]
    files = {name_of(item): item for item in plain if item[1].endswith(".py") and named.search(item[2])}
    trees = {name: codemods.imports_alone(_tree(item[2])) for name, item in files.items()}
    return [files[name] for name in importing(found, trees)]


def _imported(trees: Mapping[str, ast.Module], skipped: dict[int, Report]) -> list[Work]:
    """The files that do not name NKI, but that files which do import: kernels may use their classes and functions."""
    plain = {name_of((0, report.path, b"")): index for index, report in skipped.items() if report.path.endswith(".py")}
    read: dict[str, ast.Module] = {}

    def tree_of(name: str) -> ast.Module | None:
        tree = _tree(skipped[plain[name]].before or b"")
        read[name] = codemods.imports_alone(tree)
        return read[name] if tree.body else None

    names = imported(trees, tree_of, plain) if trees and plain else []
    return [(plain[name], skipped[plain[name]].path, skipped[plain[name]].before or b"") for name in names]


def _groups(work: list[Work], trees: dict[str, ast.Module], alone: list[str]) -> list[list[Work]]:
    """The files, those together that import from each other, but for those that are groups of their own."""
    by_name = {name_of(item): item for item in work}
    grouped = [*components({name: tree for name, tree in trees.items() if name not in alone}), *([n] for n in alone)]
    order = {name: place for place, name in enumerate(trees)}
    grouped.sort(key=lambda names: order[names[0]])
    return [[by_name[name] for name in names] for names in grouped]


def source_name(path: str) -> str:
    """A file's path as the codemods read it."""
    return posixpath.normpath(path.replace(os.sep, "/"))


def name_of(item: Work) -> str:
    return source_name(item[1])


def _tree(data: bytes) -> ast.Module:
    """What a file's imports are read from; a file that cannot be read has none (its own report says so)."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(decoded(data).text)  # read once: nothing keeps it
    except (FileError, SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])
