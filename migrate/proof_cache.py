"""Verdicts that are kept.

A question is a case (or "which kernels are there?") together with the content of the file on both sides. Its answer
holds as long as everything that the runs read is as it was: files, directory listings, environment variables. What a
run does that cannot be seen (the clock, the network) is not part of that.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from nki_migrate.runtime.compare import Difference, Failure, LevelVerdict, Place, TileMatch, TileRow, Verdict
from nki_migrate.runtime.compare.condition import Condition
from nki_migrate.runtime.hazards import Hazard
from nki_migrate.runtime.messages import Kernel, Kernels
from nki_migrate.runtime.reading import Reads
from nki_migrate.runtime.worker_start import worker_environment

from .cache import Entries, digest_of
from .judging import Judged, Limits, Searched, Task
from .sides import Side
from .spans import Span
from .verdicts import CaseResult, Problem

_CLASSES: dict[str, Any] = {
    cls.__name__: cls
    for cls in (
        *(CaseResult, Condition, Difference, Failure, Hazard, Judged, Kernel, Kernels, LevelVerdict),
        *(Place, Problem, Reads, Searched, Span, TileMatch, TileRow),
    )
}


class Cache(Entries):
    """Verdicts, and the kernels of files, by question."""

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

    # --- files -------------------------------------------------------------------------------------------------------

    def _kept(self, question: str, sides: tuple[Side, ...]) -> Any:
        try:
            entry = self.entry(question)
            if entry is None:
                return None
            fresh = all(sides[n].digest(path) == digest for n, path, digest in entry["files"])
            fresh = fresh and all(_variable(name) == value for name, value in entry["variables"])
            return _decoded(entry["answer"]) if fresh else None
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
        self.keep_entry(question, entry)


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
    return repr((where, os.path.abspath(file), file, side.label, side.target, side.digest(located)))


def _variable(name: str) -> str | None:
    """The digest of a variable that a worker sees: its value may be a secret."""
    value = worker_environment().get(name)
    return None if value is None else digest_of(value.encode(errors="surrogateescape"))


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
