"""What user code read while it ran: files, directories, environment variables. Only a child of a worker records it.

A verdict may be kept as long as nothing of this changes. Python's audit events tell of every file that is opened and
every directory that is listed, by an import as well as by the kernel itself; so a module that appears where it would be
found first is noticed, too.
"""

from __future__ import annotations

import os
import site
import sys
import sysconfig
from dataclasses import dataclass
from functools import cache
from typing import Any

from . import errors


@dataclass(frozen=True)
class Reads:
    """Absolute paths of files and directories, names of environment variables; each sorted."""

    files: tuple[str, ...] = ()
    directories: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()


class _Watched(type(os.environ)):  # type: ignore[misc]  # the class of os.environ
    """``os.environ``, noting the names that are asked for."""

    def __getitem__(self, key: str) -> str:
        _variables.add(key)
        return str(super().__getitem__(key))

    def __contains__(self, key: object) -> bool:
        _variables.add(str(key))
        return bool(super().__contains__(key))


_files: set[str] = set()
_directories: set[str] = set()
_variables: set[str] = set()


def start() -> None:
    """Record from now on, until the process ends (an audit hook cannot be removed)."""
    os.environ.__class__ = _Watched
    sys.addaudithook(_noted)


def so_far() -> Reads:
    """What was read since :func:`start`, without what belongs to Python, its packages and the emulator."""
    outside = sorted(path for path in _files if not is_installed(path))
    listed = sorted(path for path in _directories if not is_installed(path))
    return Reads(tuple(outside), tuple(listed), tuple(sorted(_variables)))


def note(path: str) -> None:
    """Record that a file was read which no open file showed."""
    _files.add(os.path.abspath(path))


def _noted(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open":
        path, mode, flags = arguments
        writes = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR)
        if isinstance(path, (str, bytes)) and not writes and not (isinstance(mode, str) and set(mode) & set("wax")):
            _files.add(_source_of(os.path.abspath(os.fsdecode(path))))
    elif event in ("os.listdir", "os.scandir") and isinstance(arguments[0], (str, bytes, type(None))):
        _directories.add(os.path.abspath(os.fsdecode(arguments[0] or os.curdir)))


def _source_of(path: str) -> str:
    """The source that compiled code stands for: Python opens only the latter when it is fresh.

    ``importlib.util.source_from_cache`` knows none of a file with another dot in its name (``after_0.2.py``). Where all
    compiled code has one folder (``PYTHONPYCACHEPREFIX``), the rest of its path is that of the source.
    """
    folder, name = os.path.split(path)
    stem, tag, _ = name.rpartition(f".{sys.implementation.cache_tag}")
    if not name.endswith(".pyc") or not tag:
        return path
    prefix = os.path.abspath(sys.pycache_prefix) + os.sep if sys.pycache_prefix else ""
    if prefix and path.startswith(prefix):
        return os.path.join(os.sep, folder[len(prefix) :], f"{stem}.py")
    return os.path.join(os.path.dirname(folder), f"{stem}.py") if os.path.basename(folder) == "__pycache__" else path


def installed_directories() -> tuple[str, ...]:
    """Where this Python and its packages are."""
    known = sysconfig.get_paths()
    found = [known[kind] for kind in ("stdlib", "platstdlib", "purelib", "platlib")]
    found += [*site.getsitepackages(), site.getusersitepackages()]
    return tuple(dict.fromkeys(path for name in found for path in (name, os.path.realpath(name))))


_INSTALLED = (*(path + os.sep for path in installed_directories()), "/dev/", "/proc/", "/sys/")


def is_installed(path: str) -> bool:
    """Does ``path`` belong to Python, to one of its packages, to the emulator or to the system's devices?"""
    return (path + os.sep).startswith(_INSTALLED) or errors.is_emulator_file(path)


_STANDARD = tuple(os.path.realpath(sysconfig.get_paths()[kind]) for kind in ("stdlib", "platstdlib"))
_PACKAGES = ("site-packages", "dist-packages")


@cache
def is_standard(path: str) -> bool:
    """Does ``path`` belong to Python's own library, or to numpy?"""
    parts = os.path.realpath(path).split(os.sep)
    folder = next((name for name in _PACKAGES if name in parts), None)
    if folder is not None:
        return parts[parts.index(folder) + 1 :][:1] == ["numpy"]
    return os.path.realpath(path).startswith(tuple(name + os.sep for name in _STANDARD))


def is_packaged(path: str) -> bool:
    """Does ``path`` belong to Python, to a package of any environment, or to the emulator?"""
    return is_installed(path) or is_standard(path) or any(name in path.split(os.sep) for name in _PACKAGES)
