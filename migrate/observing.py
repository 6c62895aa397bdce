"""``rewrite --cases``: what the old kernels show of the functions that they enter, for what the source does not tell.

The kernels are run in workers. They may stand in other files than those that are rewritten: beside the cases, or where
a case says.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path

from nki_migrate.codemods.model import Options
from nki_migrate.codemods.syntax.codes import OBSERVED_FACTS as CODE
from nki_migrate.runtime.cases import Case, CaseError, CaseFile, read_cases
from nki_migrate.runtime.compare import Failure
from nki_migrate.runtime.messages import Kernels, Observation, Reply, Request
from nki_migrate.runtime.pool import Pool, pool
from nki_migrate.runtime.spec.hardware import DEFAULT_TARGET
from nki_migrate.runtime.spec.seen import Seen, SeenFunction

from .discover import Found
from .errors import InputError
from .grouping import source_name
from .layout import not_run
from .output import plural
from .rewriting import WORD


def with_observed(options: Options, files: Sequence[Found], cases: str, jobs: int | None, *, must_run: bool) -> Options:
    """The options, with what the cases of the file ``cases`` show of the files.

    Raises :class:`InputError` for a file of cases that cannot be read, and for one case that does not run, if it must.
    """
    if not options.enabled(CODE):
        return options
    shown = observed(files, cases, jobs)
    return replace(options, observed=shown.complete if must_run else shown.functions)


@dataclass(frozen=True)
class Observed:
    """The functions of the files that are rewritten, as the cases entered them, and why some case did not run."""

    functions: tuple[SeenFunction, ...] = ()
    trouble: tuple[str, ...] = ()

    @property
    def complete(self) -> tuple[SeenFunction, ...]:
        """The functions. Raises :class:`InputError` unless all cases ran."""
        if self.trouble:
            more = f" (and {plural(len(self.trouble) - 1, 'more case')} did not run)" if len(self.trouble) > 1 else ""
            raise InputError(self.trouble[0] + more)
        return self.functions


def observed(files: Sequence[Found], cases: str, jobs: int | None) -> Observed:
    """What the cases of the file ``cases`` show; nothing is run where no file is Beta 1.

    Raises :class:`InputError` for a file of cases that cannot be read.
    """
    named = {os.path.realpath(f.path): source_name(f.path) for f in files if f.path.endswith(".py") and _is_there(f)}
    try:
        source = read_cases(cases)
    except CaseError as error:
        raise InputError(str(error)) from None
    if not any(WORD in Path(path).read_bytes() for path in named):
        return Observed()
    trouble = [bad.message for bad in source.bad]
    together: dict[tuple[str, str], _Function] = defaultdict(_Function)
    with pool(jobs) as workers:
        for case, reply in _observations(workers, named, source):
            if isinstance(reply, Failure):
                trouble.append(str(not_run(case, reply)))
            elif isinstance(reply, Observation):
                for function in reply.functions:
                    path = named.get(os.path.realpath(function.file))
                    if path is not None:
                        together[path, function.name].add(function, case)
    functions = tuple(made.joined(*place) for place, made in sorted(together.items()))
    return Observed(functions, tuple(trouble))


class _Function:
    """A function as all cases have entered it."""

    def __init__(self) -> None:
        self._parameters: dict[str, set[Seen]] = {}
        self._cases: list[str] = []

    def add(self, function: SeenFunction, case: Case) -> None:
        for name, kinds in function.parameters:
            self._parameters.setdefault(name, set()).update(kinds)
        self._cases.append(f"{case.kernel}, {case.name}")

    def joined(self, path: str, name: str) -> SeenFunction:
        parameters = tuple((name, tuple(sorted(kinds))) for name, kinds in self._parameters.items())
        return SeenFunction(path, name, parameters, tuple(dict.fromkeys(self._cases)))


def _is_there(file: Found) -> bool:
    return not file.skipped and not file.failed and os.access(file.path, os.R_OK)


def _observations(workers: Pool, named: dict[str, str], source: CaseFile) -> Iterator[tuple[Case, Reply]]:
    """The replies to each case, of every file that has its kernel; none where that is Beta 2 already."""
    asked: list[tuple[Case, Future[Reply]]] = []
    homes = _kernels(workers, named, source)
    for case in source.cases:
        found = False
        for path, reply in homes.items():
            kernels = reply.kernels if isinstance(reply, Kernels) and case.is_for(path) else ()
            dialects = {kernel.dialect for kernel in kernels if kernel.name == case.kernel}
            found = found or bool(dialects)
            if "beta1" in dialects:
                request = Request("observe", path, case, case.hardware or DEFAULT_TARGET)
                asked.append((case, workers.submit(request)))
        if not found:
            yield case, _nowhere(case, homes)
    yield from ((case, reply.result()) for case, reply in asked)


def _nowhere(case: Case, homes: dict[str, Reply]) -> Failure:
    """Why the kernel of a case is in no file."""
    broken = next((r for path, r in homes.items() if isinstance(r, Failure) and case.is_for(path)), None)
    message = f"no file that is rewritten, and none beside the cases, has a kernel '{case.kernel}'"
    return broken or Failure(False, message, case.file, case.line, 'say where it is, file = "..."')


def _kernels(workers: Pool, named: dict[str, str], source: CaseFile) -> dict[str, Reply]:
    """The kernels of the files that may have those of the cases, by path."""
    beside = {os.path.realpath(path) for path in Path(source.path).parent.glob("*.py")}
    said = {os.path.realpath(case.source) for case in source.cases if case.source}
    names = {case.kernel.encode() for case in source.cases}
    asked = {}
    for path in sorted({*named, *beside, *said}):
        if os.path.isfile(path) and os.access(path, os.R_OK):
            text = Path(path).read_bytes()
            if b"nki" in text and any(name in text for name in names):
                asked[path] = workers.submit(Request("kernels", path))
    return {path: reply.result() for path, reply in asked.items()}
