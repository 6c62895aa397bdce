"""Versions of a user's files other than those on disk. Only a child of a worker installs one.

An *overlay* gives files of the working tree another content under their own paths, and may have files that the disk
does not have: imports, ``inspect`` and tracebacks see it, the disk does not. A *copy* is a directory that stands for a
whole tree (as it was at a revision): imports that would reach the tree go to the copy, and one that gets there
nevertheless is an error, because it would mix versions.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import linecache
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from .reading import is_installed, note

_OURS = __name__.partition(".")[0]
_Loader = importlib.machinery.SourceFileLoader


@dataclass(frozen=True)
class Version:
    """``overlay``: (absolute real path, content). ``tree``, ``copy``: the directory ``copy`` stands for ``tree``."""

    overlay: tuple[tuple[str, bytes], ...] = ()
    tree: str = ""
    copy: str = ""

    def content(self, path: str) -> bytes | None:
        """What the overlay has for ``path``, if anything."""
        return dict(self.overlay).get(os.path.realpath(path)) if self.overlay else None


DISK = Version()


class MixedVersions(Exception):
    """A module of the tree was imported by a file of its copy."""


def install(version: Version) -> None:
    """Let imports in this process see ``version``."""
    if version.overlay:
        _install_overlay(dict(version.overlay))
    if version.tree:
        sys.path[:] = [_in_copy(entry, version) for entry in sys.path]
        sys.path_importer_cache.clear()


def _install_overlay(texts: Mapping[str, bytes]) -> None:
    stats, data = _Loader.path_stats, _Loader.get_data

    def path_stats(self: Any, path: str) -> Mapping[str, Any]:
        if os.path.realpath(path) in texts:
            raise OSError("compiled code on disk belongs to the file on disk")
        return stats(self, path)

    def get_data(self: Any, path: str) -> bytes:
        text = texts.get(os.path.realpath(path))
        if text is None:
            return data(self, path)
        note(path)
        lines = importlib.util.decode_source(text).splitlines(keepends=True)
        # An entry without a time of change is never compared with the file on disk.
        linecache.cache[path] = (len(text), None, lines, path)
        return text

    setattr(_Loader, "path_stats", path_stats)  # noqa: B010
    setattr(_Loader, "get_data", get_data)  # noqa: B010
    added = frozenset(path for path in texts if not os.path.lexists(path))
    if added:
        sys.meta_path.append(_Added(added))


class _Added:
    """Finds the modules that only the overlay has: files at ``paths``, which are real ones."""

    def __init__(self, paths: frozenset[str]) -> None:
        self._paths = paths

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The module ``name`` below the directories ``path`` (``sys.path`` where it is in no package), if it is one."""
        stem = name.rpartition(".")[2]
        for directory in sys.path if path is None else path:
            place = os.path.join(directory or os.curdir, f"{stem}.py")
            if os.path.realpath(place) in self._paths:
                return importlib.util.spec_from_file_location(name, place, loader=_Loader(name, place))
        return None


def _in_copy(entry: str, version: Version) -> str:
    """The entry of ``sys.path`` that stands for ``entry``."""
    path = os.path.realpath(entry or os.curdir)
    if not _below(path, version.tree) or is_installed(path):
        return entry
    return os.path.join(version.copy, os.path.relpath(path, version.tree))


def check_not_mixed(version: Version) -> None:
    """Raise :class:`MixedVersions` when a module was loaded from the tree that the copy stands for."""
    if not version.tree:
        return
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if not isinstance(file, str) or name.partition(".")[0] == _OURS:
            continue
        path = os.path.realpath(file)
        if _below(path, version.tree) and not _below(path, version.copy) and not is_installed(path):
            raise MixedVersions(
                f"module '{name}' was imported from {file}, which is not the revision's: import it as a file beside "
                "the kernel, or through PYTHONPATH"
            )


def _below(path: str, directory: str) -> bool:
    return path == directory or path.startswith(directory + os.sep)
