"""Which files the paths on the command line stand for.

A file that is named is taken, whatever ``.gitignore`` says. A directory stands for the Python files and notebooks under
it, in the order of their names, without what ``.gitignore`` files exclude (nested, with negation, from the repository's
root down), version control's own directories and virtual environments. Directories that are of another repository than
the one around them (submodules), and symbolic links to directories, are left as well unless they are named; each is
said.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache

from .errors import InputError
from .gitignore import Rules, ignored, rules_of
from .repository import repository_of

SUFFIXES = (".py", ".pyi", ".ipynb")
_NOT_SOURCE = frozenset({".git", ".hg", ".svn", ".tox", ".nox", ".eggs", "__pycache__", "node_modules"})

STDIN = "-"

SUBMODULE = "a repository of its own (a submodule): name it to include it"
LINK = "a symbolic link to a directory: name it to follow it"


@dataclass(frozen=True)
class Found:
    """One file, under the name by which the user knows it.

    ``skipped`` says why it is not to be read (a second name of a file, a broken link), ``failed`` why it cannot be;
    both may be of a directory.
    ``data`` is what it is taken to hold, where that is not what is on the disk.
    ``is_named``: on the command line, not found in a directory.
    """

    path: str
    skipped: str | None = None
    failed: str | None = None
    data: bytes | None = field(default=None, repr=False)
    is_named: bool = field(default=False, compare=False)


def found_files(paths: Iterable[str], excludes: Callable[[str], bool] | None = None) -> list[Found]:
    """The files that ``paths`` stand for, each once. Raises ``InputError`` for a path that does not exist.

    Of directories, the files that ``excludes`` names are left out.
    """
    found: list[Found] = []
    paths = list(paths)
    for path in paths:
        if path == STDIN:
            found.append(Found(STDIN))
        elif os.path.isdir(path):
            try:
                walked = _walked(path, _outer_rules(path), repository_of(path) is not None)
                found += [file for file in walked if excludes is None or not excludes(file.path)]
            except OSError as error:  # of a .gitignore above the path
                raise InputError(f"{error.filename}: cannot read: {error.strerror}") from error
        elif os.path.isfile(path):
            found.append(Found(path, is_named=True))
        elif os.path.lexists(path):
            raise InputError(
                f"{path}: not a file or directory: give a Python file, a directory, or - for standard input"
            )
        else:
            raise InputError(f"{path}: no such file or directory")
    named = {os.path.normpath(path) for path in paths}
    return [file for file in _each_once(found) if file.skipped not in (SUBMODULE, LINK) or file.path not in named]


def _each_once(found: list[Found]) -> Iterator[Found]:
    """A file reached twice by one name is one file; reached by another name (a link), it is skipped under that one."""
    # The file itself goes before links to it, so that the report names the file.
    first_name: dict[str, str] = {}
    links = {file.path for file in found if os.path.islink(file.path)}
    real = cache(os.path.realpath)
    identities = {path: _identity(path, path in links, real) for path in dict.fromkeys(file.path for file in found)}
    for file in sorted(found, key=lambda file: file.path in links):
        first_name.setdefault(identities[file.path], file.path)
    seen: set[str] = set()
    for file in found:
        name = os.path.normpath(file.path)
        if name in seen:
            continue
        seen.add(name)
        original = first_name[identities[file.path]]
        if os.path.normpath(original) == name or file.skipped or file.failed:
            yield file
        else:
            yield Found(file.path, skipped=f"the same file as {original}")


def _identity(path: str, is_link: bool, real: Callable[[str], str]) -> str:
    """What a path names, whatever links it goes through; ``real`` says so for a directory."""
    directory, name = os.path.split(path)
    if is_link or name in ("", os.curdir, os.pardir):
        return os.path.realpath(path)
    return path if path == STDIN else os.path.join(real(directory or os.curdir), name)


def _walked(directory: str, rules: tuple[Rules, ...], in_repository: bool) -> Iterator[Found]:
    """The files under ``directory``, depth first."""
    try:
        entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
        rules = (*rules, *rules_of(directory))
    except OSError as error:
        yield Found(directory, failed=f"cannot list the directory: {error.strerror}")
        return
    for entry in entries:
        path = entry.name if directory == os.curdir else entry.path
        if entry.is_dir(follow_symlinks=False):
            if _is_not_source(entry) or ignored(path, True, rules):
                continue
            is_repository = os.path.lexists(os.path.join(path, ".git"))
            if is_repository and in_repository:
                yield Found(path, skipped=SUBMODULE)
            else:
                yield from _walked(path, () if is_repository else rules, in_repository or is_repository)
        elif entry.is_symlink() and os.path.isdir(path):
            if not _is_not_source(entry) and not ignored(path, False, rules):
                yield Found(path, skipped=LINK)
        elif entry.name.endswith(SUFFIXES) and not ignored(path, False, rules) and not os.path.isdir(path):
            yield _file(path)


def _file(path: str) -> Found:
    if os.path.isfile(path):
        return Found(path)
    return Found(path, skipped="a broken symbolic link" if os.path.islink(path) else "not a regular file")


def _is_not_source(directory: os.DirEntry[str]) -> bool:
    return directory.name in _NOT_SOURCE or os.path.exists(os.path.join(directory.path, "pyvenv.cfg"))


def is_ignored(path: str) -> bool:
    """Do ``.gitignore`` files leave out a file, in a directory that they do not leave out?

    Raises :class:`InputError` for one that cannot be read.
    """
    directory = os.path.dirname(path)
    try:
        return ignored(path, False, (*_outer_rules(directory), *rules_of(directory)))
    except OSError as error:
        raise InputError(f"{error.filename}: cannot read: {error.strerror}") from error


def _outer_rules(directory: str) -> tuple[Rules, ...]:
    """The ``.gitignore`` files above ``directory``, outermost first, up to the root of its repository.

    None when they exclude ``directory`` itself: who names an ignored directory wants what is in it.
    """
    start = os.path.abspath(directory)
    above = [start]
    while not os.path.exists(os.path.join(above[-1], ".git")):
        parent = os.path.dirname(above[-1])
        if parent == above[-1]:
            return ()
        above.append(parent)
    rules: tuple[Rules, ...] = ()
    for inner, outer in zip(reversed(above[:-1]), reversed(above[1:]), strict=True):
        rules = (*rules, *rules_of(outer))
        if ignored(inner, True, rules):
            return ()
    return rules
