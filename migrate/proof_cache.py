"""Verdicts that are kept: a file for each question, in a directory of the user's.

A question is a case (or "which kernels are there?") together with the content of the file on both sides, the tool's own
source, and the versions of Python and of the packages. Its answer holds as long as everything that the runs read is as
it was: files, directory listings, environment variables. What a run does that cannot be seen (the clock, the network)
is not part of that. A file that cannot be read or was damaged is as good as none. What nobody asks for any more goes.
"""

from __future__ import annotations

import functools
import importlib.metadata
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

from nki_migrate.runtime.compare import Difference, Failure, LevelVerdict, Place, TileMatch, TileRow, Verdict
from nki_migrate.runtime.compare.condition import Condition
from nki_migrate.runtime.hazards import Hazard
from nki_migrate.runtime.messages import Kernel, Kernels
from nki_migrate.runtime.pool import worker_environment
from nki_migrate.runtime.reading import Reads, installed_directories

from .judging import Judged, Limits, Searched, Task
from .sides import Side, digest_of
from .verdicts import CaseResult, Problem

_CLASSES: dict[str, Any] = {
    cls.__name__: cls
    for cls in (
        *(CaseResult, Condition, Difference, Failure, Hazard, Judged, Kernel, Kernels, LevelVerdict),
        *(Place, Problem, Reads, Searched, TileMatch, TileRow),
    )
}
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
class Cache:
    """Answers by question, in ``directory``."""

    directory: Path

    def kernels(self, file: str, side: Side, limits: Limits) -> Kernels | Failure | None:
        """The kernels of a file, if they are known."""
        found = self._kept(_question("kernels", limits, _identity(file, side)), (side,))
        return found if isinstance(found, (Kernels, Failure)) else None

    def keep_kernels(self, file: str, side: Side, limits: Limits, reply: Kernels | Failure) -> None:
        if not isinstance(reply, Failure) or reply.lasting:
            self._keep(_question("kernels", limits, _identity(file, side)), (side,), (reply.reads,), reply)

    def judged(self, task: Task) -> Judged | None:
        """What became of a case, if it is known."""
        found = self._kept(_case_question(task), (task.pair.old, task.pair.new))
        return found if isinstance(found, Judged) else None

    def keep_judged(self, task: Task, judged: Judged) -> None:
        if judged.lasting:
            self._keep(_case_question(task), (task.pair.old, task.pair.new), judged.reads, judged)

    def searched(self, tasks: Sequence[Task], seconds: float) -> Searched | None:
        """What a search came to that began with these tasks of one kernel and had so much time, if it is known."""
        found = self._kept(_search_question(tasks, seconds), (tasks[0].pair.old, tasks[0].pair.new))
        return found if isinstance(found, Searched) else None

    def keep_searched(self, tasks: Sequence[Task], seconds: float, searched: Searched) -> None:
        if searched.lasting:
            sides = tasks[0].pair.old, tasks[0].pair.new
            self._keep(_search_question(tasks, seconds), sides, searched.reads, searched)

    def text(self, question: str) -> Any:
        """The plain value kept for a question whose answer depends on nothing else."""
        return self._kept(question, ())

    def keep_text(self, question: str, value: Any) -> None:
        self._keep(question, (), (), value)

    # --- files -------------------------------------------------------------------------------------------------------

    def _path(self, question: str) -> Path:
        name = digest_of(f"{_tool()}\n{question}".encode(errors="surrogateescape"))
        return self.directory / name[:2] / f"{name}.json"

    def _kept(self, question: str, sides: tuple[Side, ...]) -> Any:
        try:
            path = self._path(question)
            check, _, body = path.read_bytes().partition(b"\n")
            if digest_of(body).encode() != check:
                return None
            entry = json.loads(body)
            fresh = all(sides[n].digest(path) == digest for n, path, digest in entry["files"])
            fresh = fresh and all(_variable(name) == value for name, value in entry["variables"])
            if not fresh:
                return None
            answer = _decoded(entry["answer"])
            with suppress(OSError):  # a directory that cannot be written may still be read
                os.utime(path)
            return answer
        except (OSError, ValueError, KeyError, TypeError, IndexError):
            return None

    def _keep(self, question: str, sides: tuple[Side, ...], reads: tuple[Reads, ...], answer: Any) -> None:
        """Store an answer; a cache that cannot be written is no reason to fail."""
        files = [
            (n, path, side.digest(path))
            for n, (side, read) in enumerate(zip(sides, reads, strict=True))
            for path in (*read.files, *read.directories)
        ]
        variables = sorted({name for read in reads for name in read.variables})
        entry = {
            "files": files,
            "variables": [(name, _variable(name)) for name in variables],
            "answer": _encoded(answer),
        }
        body = json.dumps(entry).encode()
        path = self._path(question)
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            _write(path, digest_of(body).encode() + b"\n" + body)

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


# --- questions -------------------------------------------------------------------------------------------------------


def _case_question(task: Task) -> str:
    pair = task.pair
    sides = _identity(pair.before, pair.old), _identity(pair.after, pair.new)
    return _question(
        "case", task.limits, *sides, repr(task.case), repr(tuple(task.levels)), task.hardware, repr(task.inexact)
    )


def _search_question(tasks: Sequence[Task], seconds: float) -> str:
    return "\n".join(("search", repr(seconds), *map(_case_question, tasks)))


def _question(kind: str, limits: Limits, *facts: str) -> str:
    return "\n".join((kind, repr(limits), os.getcwd(), *facts))


def _identity(file: str, side: Side) -> str:
    located = side.located(file)
    where = side.label if side.version.tree else os.path.abspath(file)
    return repr((where, os.path.abspath(file), file, side.label, side.digest(located)))


def _variable(name: str) -> str | None:
    """The digest of a variable that a worker sees: its value may be a secret."""
    value = worker_environment().get(name)
    return None if value is None else digest_of(value.encode(errors="surrogateescape"))


@functools.cache
def _tool() -> str:
    """The tool's own source, Python, and the names (with their versions) in the directories of packages."""
    root = Path(__file__).resolve().parent
    places = {root, *(Path(path) for path in sys.modules["nki_migrate.runtime"].__path__)}
    places |= {Path(path) for path in _codemods_path()}
    sources = sorted(path for place in places for path in place.rglob("*.py"))
    facts = [f"{path}:{digest_of(path.read_bytes())}" for path in sources]
    facts += [sys.version, sys.executable, platform.machine()]
    facts += [
        f"{name} {importlib.metadata.version(name)}" for name in ("numpy", "scipy", "ml_dtypes", "libcst", "black")
    ]
    for directory in installed_directories():
        with suppress(OSError):
            facts += sorted(set(os.listdir(directory)) - {"__pycache__"})
    return digest_of("\n".join(facts).encode(errors="surrogateescape"))


def _codemods_path() -> Iterable[str]:
    from importlib.util import find_spec

    spec = find_spec("nki_migrate.codemods")
    return (spec.submodule_search_locations or ()) if spec else ()


# --- answers ---------------------------------------------------------------------------------------------------------


def _encoded(value: Any) -> Any:
    if isinstance(value, Verdict):
        return {"verdict": value.value}
    if is_dataclass(value):
        return {"is": type(value).__name__, **{f.name: _encoded(getattr(value, f.name)) for f in fields(value)}}
    if isinstance(value, (tuple, list)):
        return [_encoded(item) for item in value]
    return value


def _decoded(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_decoded(item) for item in value)
    if isinstance(value, dict):
        if "verdict" in value and len(value) == 1:
            return Verdict(value["verdict"])
        return _CLASSES[value["is"]](**{name: _decoded(item) for name, item in value.items() if name != "is"})
    return value
