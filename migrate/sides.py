"""The two sides of a comparison: which content a file has on each, and how a report names it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from nki_migrate.codemods.model import Moved
from nki_migrate.runtime.cells import source
from nki_migrate.runtime.compare import Difference, Inexact, LevelVerdict, Place, TileRow
from nki_migrate.runtime.reading import is_installed
from nki_migrate.runtime.versions import DISK, Version

from .cache import digest_of


def _nothing() -> None:
    return None


@dataclass(frozen=True)
class Side:
    """One version of the user's files.

    ``label`` tells it from the files on disk (``rewritten``, a git revision; empty for the disk). ``commit`` identifies
    the content of a copy. ``prepare`` makes the copy; it is called before a worker needs it, and may be called again.
    ``moves`` says where the declarations of the other side went, by the real path of a file, if a rewrite tells it;
    ``inexact`` what it declares about the numbers. ``target`` is the version of NKI of the side's files (of
    those that were rewritten, if some were); empty where cases and the files themselves tell it.
    """

    version: Version = DISK
    label: str = ""
    commit: str = ""
    prepare: Callable[[], None] = field(default=_nothing, compare=False, repr=False)
    moves: Mapping[str, Sequence[Moved]] = field(default_factory=dict, compare=False, repr=False)
    inexact: Inexact | None = None
    target: str = ""

    def located(self, path: str) -> str:
        """Where a worker finds the file that the user knows as ``path``."""
        if not self.version.tree:
            return path
        return os.path.join(self.version.copy, os.path.relpath(os.path.realpath(path), self.version.tree))

    def known(self, path: str) -> str:
        """The user's name of a file that a worker tells of: the reverse of :meth:`located`."""
        if not self.version.tree or not self._in_copy(path):
            return path
        return os.path.join(self.version.tree, os.path.relpath(path, self.version.copy))

    def known_text(self, text: str) -> str:
        """A message with the user's names of files."""
        return text.replace(self.version.copy, self.version.tree) if self.version.tree else text

    def label_of(self, path: str) -> str:
        """The label, for a file (as a worker names it) that differs from the disk's."""
        if self.version.tree:
            return self.label if self._in_copy(path) else ""
        return self.label if self.version.content(path) is not None else ""

    def content(self, path: str) -> bytes:
        """What a worker reads at ``path``. Raises ``OSError``."""
        text = self.version.content(path)
        if text is None:
            with open(path, "rb") as file:
                text = file.read()
        return text

    def digest(self, path: str) -> str | None:
        """Identity of the content of a file or a directory that a worker read; ``None`` for what is not there."""
        if self._in_copy(path):
            return f"{self.commit}:{os.path.relpath(path, self.version.copy)}"
        if is_installed(path):
            return "installed"
        try:
            if os.path.isdir(path):
                return digest_of("\0".join(sorted(set(os.listdir(path)) - {"__pycache__"})).encode(errors="replace"))
            return digest_of(self.content(path))
        except OSError:
            return None

    def _in_copy(self, path: str) -> bool:
        return bool(self.version.copy) and path.startswith(self.version.copy + os.sep)

    # --- what a report says ------------------------------------------------------------------------------------------

    def place(self, place: Place | None) -> Place | None:
        """A place as the user knows it, with its line of source."""
        if place is None:
            return None
        return replace(
            place,
            file=self.known(place.file),
            version=self.label_of(place.file),
            source=self._line(place.file, place.line),
        )

    def tile(self, tile: TileRow) -> TileRow:
        return replace(tile, file=self.known(tile.file)) if self.version.tree else tile

    def _line(self, path: str, line: int) -> str:
        if not path or line < 1:
            return ""
        try:
            lines = source(path, self.content(path)).decode(errors="replace").splitlines()
        except (OSError, SyntaxError):
            return ""
        return lines[line - 1].strip() if line <= len(lines) else ""


ON_DISK = Side()


def named(level: LevelVerdict, before: Side, after: Side) -> LevelVerdict:
    """A verdict whose places are named as the user knows them."""
    differences = tuple(
        Difference(d.message, before.place(d.before), after.place(d.after), d.maps) for d in level.differences
    )
    return replace(level, differences=differences)
