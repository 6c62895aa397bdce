"""The one module of a package that has the functions which rewrites of its files need: where it is, and what it holds.

A file's home depends on its place and its own imports alone, never on what other files need: files can be rewritten in
any number of processes, and their reports kept. What the module holds is the union of what all files of a run need.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from nki_migrate.codemods.model import Options, SupportHome
from nki_migrate.codemods.render.support_module import NAME, extended, is_ours

from .discover import Found, is_ignored
from .errors import FileError
from .reports import Report, bytes_at
from .repository import repository_of
from .rewriting import WORD, source_name
from .text import decoded, encoded

INLINE = "pass --support inline, which gives each file what it needs"
_IMPORTED = re.compile(rb"^[ \t]*(?:from|import)[ \t]+(\.|\w+)", re.MULTILINE)
_IS_RUN = re.compile(rb"^if[ \t]+__name__[ \t]*==", re.MULTILINE)
_NKI = frozenset({"nki", "neuronxcc"})

Excludes = Callable[[str], bool]


@dataclass(frozen=True)
class _Package:
    """The package that a folder is part of, seen from there.

    ``name`` is that of its outermost folder, ``path`` and ``stem`` are those of its module of functions, ``dots`` climb
    there; ``beside`` are the modules in the folder itself.
    """

    name: str
    path: str
    stem: str
    dots: str
    beside: frozenset[str]
    problem: str


def with_homes(options: Options, files: Iterable[Found], excludes: Excludes | None = None) -> Options:
    """``options`` with the home of each file of a package that may need functions; ``excludes`` is the user's."""
    if options.language:
        return options
    packages: dict[str, _Package | None] = {}
    homes: list[tuple[str, SupportHome]] = []
    for file in files:
        if not file.path.endswith(".py") or file.skipped or file.failed:
            continue
        folder = os.path.dirname(os.path.abspath(file.path))
        if folder not in packages:
            packages[folder] = _package(folder, options.target, excludes)
        package = packages[folder]
        module = _spelled(_imports(file), package) if package is not None else ""
        if package is not None and module:
            path = package.path if os.path.isabs(file.path) else os.path.relpath(package.path)
            homes.append((source_name(file.path), SupportHome(path, module, package.problem)))
    return replace(options, support_homes=tuple(homes))


def _imports(file: Found) -> tuple[frozenset[str], bool]:
    """What a file of Beta 1 imports (the first part of each name; a dot for its own package); is it a script?"""
    try:
        data = file.data if file.data is not None else bytes_at(file.path)
    except OSError:
        data = b""
    if WORD not in data:
        return frozenset(), True
    return frozenset(name.decode() for name in _IMPORTED.findall(data)), _IS_RUN.search(data) is not None


def _spelled(imports: tuple[frozenset[str], bool], package: _Package) -> str:
    """How a file imports the module of its package: as it imports others of it.

    Empty for a file that runs without its package: a script, or one that imports its neighbours by their bare names.
    """
    roots, is_script = imports
    if "." not in roots and package.name in roots - _NKI:
        return f"{package.name}.{package.stem}"
    if "." not in roots and (is_script or roots & package.beside):
        return ""
    return package.dots + package.stem


def _package(folder: str, target: str, excludes: Excludes | None) -> _Package | None:
    """The package of a folder with ``__init__.py``: it ends at the root of the repository."""
    repository = repository_of(folder)
    root = os.path.abspath(folder) if repository is None else repository.root
    top, dots = "", ""
    place = folder
    while os.path.basename(place).isidentifier() and os.path.isfile(os.path.join(place, "__init__.py")):
        top, dots = place, dots + "."
        if repository is not None and os.path.realpath(place) == root:
            break
        place = os.path.dirname(place)
    if not top:
        return None
    stem, number = NAME, 1
    while not _is_usable(os.path.join(top, stem), target):
        number += 1
        stem = f"{NAME}_{number}"
    path = os.path.join(top, f"{stem}.py")
    names = {entry.removesuffix(".py") for entry in os.listdir(folder) if entry.endswith(".py")}
    beside = frozenset(names - sys.stdlib_module_names - {"__init__"})
    return _Package(os.path.basename(top), path, stem, dots, beside, _problem(path, excludes))


def _is_usable(place: str, target: str) -> bool:
    """Can functions be put into the module at ``place``, a path without its suffix: is there none, or one of ours?"""
    path = f"{place}.py"
    if os.path.isdir(place) or not os.path.lexists(path):
        return not os.path.isdir(place)
    try:
        return os.path.isfile(path) and is_ours(decoded(bytes_at(path)).text, target)
    except (OSError, FileError):
        return False


def _problem(path: str, excludes: Excludes | None) -> str:
    """Why a module cannot be part of a run; empty where it can."""
    if excludes is not None and excludes(path):
        return f"the configuration excludes {os.path.relpath(path)}, which would have functions that it needs: {INLINE}"
    if is_ignored(path):
        return f".gitignore leaves out {os.path.relpath(path)}, which would have functions that it needs: {INLINE}"
    return ""


# --- what the modules hold -------------------------------------------------------------------------------------------


def with_modules(reports: Sequence[Report], target: str) -> list[Report]:
    """The reports, and those on the modules that get what changed files need, written for the version ``target``.

    Reports on new files stand at the end.
    """
    needed: dict[str, set[str]] = {}
    for report in reports:
        if report.status == "changed" and report.needs:
            needed.setdefault(report.home, set()).update(report.needs)
    known = {os.path.abspath(report.path): report for report in reports} if needed else {}
    modules = [_module(known.get(os.path.abspath(path)), path, names, target) for path, names in sorted(needed.items())]
    return _joined(reports, {os.path.abspath(module.path): module for module in modules})


def _joined(reports: Sequence[Report], modules: Mapping[str, Report]) -> list[Report]:
    found = [modules.get(os.path.abspath(report.path), report) if modules else report for report in reports]
    here = {os.path.abspath(report.path) for report in found}
    return found + [module for path, module in modules.items() if path not in here and module.status == "changed"]


def _module(report: Report | None, path: str, names: set[str], target: str) -> Report:
    """The report on the module at ``path`` that is to have the functions ``names``."""
    if report is None or not report.before:
        before = bytes_at(path) if os.path.exists(path) else b""
        report = Report(path, "unchanged", before=before, after=before, is_added=not os.path.exists(path))
    old = decoded(report.after)
    after = encoded(extended(names, old.text, target), old)
    if after == report.after:
        return report
    return replace(report, status="changed", reason=None, after=after)
