"""Which files are rewritten together: those that import from each other, and where shipped kernels' homes are."""

from __future__ import annotations

import ast
import os
import posixpath
import re
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING

from nki_migrate import codemods
from nki_migrate.codemods import components
from nki_migrate.codemods.project.links import imported
from nki_migrate.codemods.syntax.node_index import trees_changed, trees_kept

from .errors import FileError
from .reports import Report, parsed
from .text import decoded

if TYPE_CHECKING:
    from nki_migrate.codemods.model import Options
    from nki_migrate.codemods.project.vendor_kernels import Homes

Work = tuple[int, str, bytes]
"""One file: its place among the files, its path, its bytes."""


@trees_kept()
def grouped_files(
    work: list[Work], skipped: dict[int, Report], options: Options
) -> tuple[list[list[Work]], Mapping[str, Homes] | None]:
    """The files, with those that they import, in groups that import from each other, and the homes of shipped kernels.

    No process holds the trees of all of them at once: what is kept of most are their imports.
    """
    trees = _few_trees(work) if len(work) + len(skipped) > 1 else {}
    homes = _homes(trees, skipped, options)
    trees |= _with_imports(work, homes, options)
    return _groups([*work, *_imported(trees, skipped)], trees), homes


def _few_trees(work: list[Work]) -> dict[str, ast.Module]:
    """The trees of files that use kernels of ``neuronxcc``'s or may define them, and of others the imports."""
    trees: dict[str, ast.Module] = {}
    names: set[str] = set()
    for item in work:
        tree = _tree(item[2])
        trees[name_of(item)] = alone = codemods.imports_alone(tree)
        if codemods.imports_shipped(alone):
            names |= codemods.shipped_names(tree)
            trees[name_of(item)] = tree
    trees_changed()  # what is found in trees holds them
    defined = re.compile(rf"\b(def|class)[\s\\]+({'|'.join(names)})\b".encode()) if names else None
    return trees | {name_of(item): _tree(item[2]) for item in work if defined and defined.search(item[2])}


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


def _imported(trees: dict[str, ast.Module], skipped: dict[int, Report]) -> list[Work]:
    """The files that do not name NKI, but that files which do import: kernels may use their classes and functions.

    Their trees are added to ``trees``.
    """
    plain = {name_of((0, report.path, b"")): index for index, report in skipped.items() if report.path.endswith(".py")}
    read: dict[str, ast.Module] = {}

    def tree_of(name: str) -> ast.Module | None:
        tree = _tree(skipped[plain[name]].before or b"")
        read[name] = codemods.imports_alone(tree)
        return read[name] if tree.body else None

    names = imported(trees, tree_of, plain) if trees and plain else []
    trees |= {name: read[name] for name in names}
    return [(plain[name], skipped[plain[name]].path, skipped[plain[name]].before or b"") for name in names]


def _groups(work: list[Work], trees: dict[str, ast.Module]) -> list[list[Work]]:
    """The files, those together that import from each other."""
    by_name = {name_of(item): item for item in work}
    grouped = [[by_name[name] for name in names] for names in components(trees)]
    return grouped if trees else [[item] for item in work]


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
