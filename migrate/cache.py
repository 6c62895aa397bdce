"""Answers that are kept: a file for each question, in a directory of the user's.

The tool's own source, Python and the names of installed packages are part of every question. A file that cannot be read
or was damaged is as good as none. What nobody asks for any more goes.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from nki_migrate.runtime.reading import installed_directories

VARIABLE = "NKI_MIGRATE_CACHE_DIR"
UNUSED_SECONDS = 30 * 24 * 3600.0
LARGEST = 256 << 20
"""Bytes of all entries; beyond it those go that were not asked for the longest time."""
_BETWEEN_PRUNINGS = 24 * 3600.0


def cache_directory(environment: Mapping[str, str]) -> Path:
    """``$NKI_MIGRATE_CACHE_DIR``, else ``$XDG_CACHE_HOME/nki-migrate``, else below ``~/.cache``."""
    if environment.get(VARIABLE):
        return Path(environment[VARIABLE])
    base = environment.get("XDG_CACHE_HOME", "")
    return Path(base if os.path.isabs(base) else Path.home() / ".cache") / "nki-migrate"


@dataclass(frozen=True)
class Entries:
    """Plain values by question, in ``directory``."""

    directory: Path

    def entry(self, question: str) -> Any:
        """The value that is kept for a question; ``None`` if there is none."""
        try:
            path = self._path(question)
            check, _, body = path.read_bytes().partition(b"\n")
            if digest_of(body).encode() != check:
                return None
            value = json.loads(body)
            with suppress(OSError):  # a directory that cannot be written may still be read
                os.utime(path)
            return value
        except (OSError, ValueError):
            return None

    def keep_entry(self, question: str, value: Any) -> None:
        """Store a value; a cache that cannot be written is no reason to fail."""
        body = json.dumps(value).encode()
        path = self._path(question)
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            _write(path, digest_of(body).encode() + b"\n" + body)

    def _path(self, question: str) -> Path:
        name = digest_of(f"{_tool()}\n{question}".encode(errors="surrogateescape"))
        return self.directory / name[:2] / f"{name}.json"

    def prune(self) -> None:
        """Once a day: remove entries that nobody asked for in 30 days, and the oldest beyond 256 MiB."""
        now, stamp = time.time(), self.directory / "pruned"
        with suppress(OSError):
            if stamp.exists() and now - stamp.stat().st_mtime < _BETWEEN_PRUNINGS:
                return
            stamp.touch()
            total = 0
            for asked, size, path in sorted(_entries(self.directory), reverse=True):
                total += size
                if total > LARGEST or now - asked > UNUSED_SECONDS:
                    path.unlink(missing_ok=True)


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _entries(directory: Path) -> Iterator[tuple[float, int, Path]]:
    """When each entry was asked for last, and its bytes. Nothing else below the directory is the cache's."""
    for path in directory.glob("??/*.json"):
        with suppress(OSError):
            found = path.stat()
            yield found.st_mtime, found.st_size, path


def _write(path: Path, data: bytes) -> None:
    """All of the file or nothing of it, whoever else writes it."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


PACKAGES = ("numpy", "scipy", "ml_dtypes", "libcst", "black")
"""The packages that results depend on."""


@functools.cache
def _tool() -> str:
    """The tool's own source, Python, and the names (with their versions) in the directories of packages."""
    facts = [f"{path}:{digest_of(path.read_bytes())}" for path, _ in _sources()]
    facts += [sys.version, sys.executable, platform.machine()]
    facts += [f"{name} {importlib.metadata.version(name)}" for name in PACKAGES]
    for directory in installed_directories():
        with suppress(OSError):
            facts += sorted(set(os.listdir(directory)) - {"__pycache__"})
    return digest_of("\n".join(facts).encode(errors="surrogateescape"))


@functools.cache
def source_digest() -> str:
    """The identity of the tool's own source, wherever it is installed."""
    return digest_of("\n".join(sorted(f"{name}:{digest_of(path.read_bytes())}" for path, name in _sources())).encode())


def _sources() -> list[tuple[Path, str]]:
    """The files of the tool, each with its name from the folder of the package."""
    root = Path(__file__).resolve().parent
    own = [
        path for path in root.rglob("*.py") if path.relative_to(root).parts[0] not in ("runtime", "codemods", "golden")
    ]
    inner = [("runtime", Path(path)) for path in sys.modules["nki_migrate.runtime"].__path__]
    inner += [("codemods", Path(path)) for path in _codemods_path()]
    found = [(path, path.relative_to(root).as_posix()) for path in own]
    found += [(path, f"{name}/{path.relative_to(at).as_posix()}") for name, at in inner for path in at.rglob("*.py")]
    return sorted(found)


def _codemods_path() -> Iterable[str]:
    spec = find_spec("nki_migrate.codemods")
    return (spec.submodule_search_locations or ()) if spec else ()
