"""The one module of a package that has the functions which rewrites of its files need: where it is, and what it holds.

A folder whose files import each other by their bare names has one, too. Where a file has its functions depends on its
place and on imports alone, never on what other files need: files can be rewritten in any number of processes, and their
reports kept. What the module holds is the union of what all files of a run need.
"""

from __future__ import annotations

import itertools
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from nki_migrate.codemods.model import Options, SupportHome
from nki_migrate.codemods.render.support_module import NAME, extended, is_ours

from .discover import Found, is_ignored
from .errors import FileError
from .grouping import source_name
from .reports import Report, bytes_at, bytes_of
from .repository import repository_of
from .rewriting import WORD
from .text import decoded, encoded

INLINE = "pass --support inline, which gives each file what it needs"
_IMPORTED = re.compile(rb"^[ \t]*(?:from|import)[ \t]+(\.|\w+)", re.MULTILINE)
_IS_RUN = re.compile(rb"^if[ \t]+__name__[ \t]*==", re.MULTILINE)
_NKI = frozenset({"nki", "neuronxcc"})
_OWN = "."

Excludes = Callable[[str], bool]


@dataclass(frozen=True)
class _Imports:
    """What a file imports: the first part of each name, :data:`_OWN` for its package; ``is_run``: is it a script?"""

    roots: frozenset[str]
    is_run: bool


@dataclass(frozen=True)
class _Folder:
    """Where the files of a folder have functions: ``path`` is the module's (empty: in themselves), ``stem`` its name.

    Of a package ``name`` is that of its outermost folder, which has the module, and ``dots`` climb there. The files of
    any other folder have a module beside them if several are of NKI, those that are ``linked``: that import a neighbour
    by its bare name, or are imported so. ``beside`` are all modules of the folder.
    """

    path: str
    stem: str
    name: str = ""
    dots: str = ""
    beside: frozenset[str] = frozenset()
    linked: frozenset[str] = frozenset()
    problem: str = ""

    def spelled(self, file: str, imports: _Imports) -> str:
        """How the module ``file`` of the folder imports the module of functions; empty where it does not.

        In a package, as it imports others of it; a script, or one that may import its neighbours by their bare names,
        runs without it.
        """
        if not self.path:
            return ""
        if not self.dots:
            return self.stem if file in self.linked else ""
        if _OWN not in imports.roots and self.name in imports.roots - _NKI:
            return f"{self.name}.{self.stem}"
        if _OWN not in imports.roots and (imports.is_run or imports.roots & self.beside):
            return ""
        return self.dots + self.stem


def with_homes(options: Options, files: Iterable[Found], excludes: Excludes | None = None) -> Options:
    """``options`` with the home of each file that does not stand alone; ``excludes`` is the user's."""
    if options.language:
        return options
    folders: dict[str, _Folder] = {}
    homes: list[tuple[str, SupportHome]] = []
    for file in files:
        if not file.path.endswith(".py") or file.skipped or file.failed:
            continue
        place, name = os.path.split(os.path.abspath(file.path))
        data = _data(file)
        if WORD not in data:
            continue
        if place not in folders:
            folders[place] = _folder(place, options.target, excludes)
        folder = folders[place]
        module = folder.spelled(name.removesuffix(".py"), _imports(data))
        if module:
            path = folder.path if os.path.isabs(file.path) else os.path.relpath(folder.path)
            homes.append((source_name(file.path), SupportHome(path, module, folder.problem)))
    return replace(options, support_homes=tuple(homes))


def _data(file: Found) -> bytes:
    """What a file holds; nothing for one that cannot be read, as its report says."""
    try:
        return bytes_of(file)
    except OSError:
        return b""


def _imports(data: bytes) -> _Imports:
    return _Imports(frozenset(name.decode() for name in _IMPORTED.findall(data)), _IS_RUN.search(data) is not None)


def _folder(folder: str, target: str, excludes: Excludes | None) -> _Folder:
    repository = repository_of(folder)
    root = repository.root if repository is not None else ""
    found = (entry for entry in os.listdir(folder) if entry.endswith(".py"))
    names = {entry.removesuffix(".py") for entry in found if os.path.isfile(os.path.join(folder, entry))}  # no pipes
    beside = frozenset(names - sys.stdlib_module_names - _NKI - {"__init__"})
    top, dots = _package(folder, root)
    linked = frozenset[str]() if dots else _linked(folder, beside)
    if not dots and not linked:
        return _Folder("", "")
    stem = NAME if dots or os.path.realpath(folder) == root else _name_beside(folder)
    stem = next(each for each in _numbered(stem) if _is_usable(os.path.join(top, each), target))
    path = os.path.join(top, f"{stem}.py")
    return _Folder(path, stem, os.path.basename(top), dots, beside, linked, _problem(path, excludes))


def _package(folder: str, root: str) -> tuple[str, str]:
    """The outermost folder of the package that a folder is part of, and the dots that climb there; none: the folder.

    A package ends at the ``root`` of its repository.
    """
    top, dots, place = folder, "", folder
    while os.path.basename(place).isidentifier() and os.path.isfile(os.path.join(place, "__init__.py")):
        top, dots = place, dots + "."
        if os.path.realpath(place) == root:
            break
        place = os.path.dirname(place)
    return top, dots


def _linked(folder: str, beside: frozenset[str]) -> frozenset[str]:
    """The modules of a folder that import each other by their bare names, where several of the folder are of NKI."""
    roots = {name: _imports(_data(Found(os.path.join(folder, f"{name}.py")))).roots for name in sorted(beside)}
    if sum(not _NKI.isdisjoint(found) for found in roots.values()) < _SEVERAL:
        return frozenset()
    importing = {name for name, found in roots.items() if (found & beside) - {name}}
    return frozenset(importing.union(*(roots[name] & beside for name in importing)))


_SEVERAL = 2


def _name_beside(folder: str) -> str:
    """The name of the module of a folder that is no package: such folders stand beside each other on ``sys.path``."""
    name = re.sub(r"\W", "_", os.path.basename(folder))
    return f"{name}_support" if name.isidentifier() else NAME


def _numbered(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}_{number}" for number in itertools.count(2))


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
    paths: dict[str, str] = {}
    for report in reports:
        if report.status == "changed" and report.needs:
            home = os.path.abspath(report.home)
            needed.setdefault(home, set()).update(report.needs)
            paths.setdefault(home, report.home)
    known = {os.path.abspath(report.path): report for report in reports} if needed else {}
    return _joined(reports, {h: _module(known.get(h), paths[h], needed[h], target) for h in sorted(needed)})


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
