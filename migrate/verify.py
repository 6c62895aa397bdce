"""``nki-migrate verify``: run two versions of kernels on the emulator, compare them at three levels.

Kernels are paired by name, files of two directories by their relative path. A kernel is verified by its cases; one
without a case is *undecided*, with what to do. The exit code is 0 only if everything is equal; 2 if anything is
undecided or in error, whatever else was found; else 1: a difference is the last word only when all else was decided.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

from nki_migrate.runtime.compare import LEVELS, Failure, Inexact, Verdict
from nki_migrate.runtime.messages import Kernels, Reply
from nki_migrate.runtime.pool import Pool, pool
from nki_migrate.runtime.reading import Reads

from .errors import InputError
from .judging import DEFAULT_LIMITS, Judged, Limits, Pair, Running, Task, judged, request, started
from .planning import ALL, Choice, Inventory, Wish, check_kernels, file_pairs, notes, planned
from .proof_cache import Cache
from .reports import Report
from .sides import Side
from .surfaces import print_proof
from .unseen import unseen
from .verdicts import CaseResult, Problem, Proof

__all__ = ["Evidence", "Settings", "evidence", "judged", "proved", "run"]

_AHEAD = 4
"""Cases that are submitted before the first is judged, for each job: what runs leave behind is large."""


@dataclass(frozen=True)
class Settings:
    """How to verify.

    ``levels`` are compared, ``hardware`` overrides the cases' own. ``cache`` keeps verdicts where there is one. Without
    ``execute`` nothing runs, and everything is undecided. ``strict``: so are kernels whose cases do not show both sides
    of their conditions. ``inexact`` is what the user declares about all numbers.
    """

    levels: Sequence[str] = LEVELS
    hardware: str | None = None
    choice: Choice = ALL
    limits: Limits = DEFAULT_LIMITS
    jobs: int | None = None
    cache: Cache | None = None
    execute: bool = True
    inexact: Inexact | None = None
    strict: bool = False


@dataclass
class Evidence:
    """A proof, with the tasks it rests on, and what was read for each file (by the user's name of its old version).

    For the report: ``reports`` of the rewrite that was verified, ``contents`` of versions that are not on disk, by path
    and label.
    """

    results: list[CaseResult] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    tasks: list[Task] = field(default_factory=list)
    reads: dict[str, set[str]] = field(default_factory=dict)
    kernels: dict[str, int] = field(default_factory=dict)
    reports: list[Report] = field(default_factory=list)
    contents: dict[tuple[str, str], bytes] = field(default_factory=dict)

    @property
    def proof(self) -> Proof:
        return Proof(tuple(self.results), tuple(self.notes))

    def note_reads(self, pair: Pair, sides: Iterable[tuple[Side, Reads]]) -> None:
        known = self.reads.setdefault(pair.before, set())
        for side, reads in sides:
            known.update(os.path.realpath(side.known(path)) for path in reads.files)


def run(
    before: str | os.PathLike[str],
    after: str | os.PathLike[str],
    cases: str | os.PathLike[str] | None = None,
    kernels: Sequence[str] = (),
    level: str | None = None,
    hardware: str | None = None,
    output_format: str = "text",
) -> int:
    """Verify, print the proof, return the exit code. Raises :class:`InputError` for arguments that cannot be used."""
    proof = proved(before, after, cases, kernels, level, hardware)
    print_proof(proof, output_format)
    return proof.exit_code


def proved(
    before: str | os.PathLike[str],
    after: str | os.PathLike[str],
    cases: str | os.PathLike[str] | None = None,
    kernels: Sequence[str] = (),
    level: str | None = None,
    hardware: str | None = None,
    jobs: int | None = None,
    ulps: int = 0,
) -> Proof:
    """Two files or two directories, compared: the results in the order of files, kernels and cases.

    ``level`` is the last level to compare (default: all three). ``hardware`` overrides the cases' own; without either
    it is gen3. ``kernels`` restricts the kernels; an unknown one raises :class:`InputError`. ``ulps`` is what the user
    declares about divisions.
    """
    choice = Choice(os.fspath(cases) if cases is not None else None, frozenset(kernels))
    inexact = Inexact(ulps, "ulps") if ulps else None
    settings = Settings(levels_to(level), hardware, choice, jobs=jobs, inexact=inexact)
    return evidence(list(file_pairs(os.fspath(before), os.fspath(after))), settings, os.fspath(before)).proof


def levels_to(level: str | None) -> Sequence[str]:
    """The levels up to ``level``; all without one."""
    return LEVELS[: LEVELS.index(level) + 1] if level else LEVELS


def evidence(pairs: Sequence[Pair], settings: Settings, asked: str, *, may_be_empty: bool = False) -> Evidence:
    """Verify ``pairs``. ``asked`` is what the user calls them, for messages.

    Raises :class:`InputError` when there is no kernel at all (unless it ``may_be_empty``), or not the one asked for.
    """
    found = Evidence()
    if not settings.execute:
        found.results = [_forbidden(pair) for pair in pairs]
        return found
    with pool(settings.jobs) as workers:
        inventories = list(_inventories(workers, pairs, settings, found))
        check_kernels(settings.choice.kernels, inventories, asked)
        plan = list(planned(inventories, settings.choice))
        found.results = list(_results(workers, plan, settings, found))
    if not found.results and not may_be_empty and not any(inventory.unchanged for inventory in inventories):
        raise InputError(f"{asked}: no kernel found: a kernel is a function decorated with nki.jit")
    missed = list(unseen(found.results))
    found.notes = [*notes(inventories, settings.choice), *(each.note for each in missed)]
    if settings.strict:
        found.results += [each.undecided for each in missed]
    return found


def _forbidden(pair: Pair) -> CaseResult:
    problem = Problem("case", Verdict.UNDECIDED, "execution forbidden (--no-execute)")
    return CaseResult(pair.before, pair.after, problems=(problem,), labels=pair.labels)


def _inventories(workers: Pool, pairs: Sequence[Pair], settings: Settings, found: Evidence) -> Iterator[Inventory]:
    asked = [
        (
            pair,
            _kernels_in(workers, pair.before, pair.old, settings),
            _kernels_in(workers, pair.after, pair.new, settings),
        )
        for pair in pairs
    ]
    for pair, old, new in asked:
        inventory = Inventory(pair, _answer(old), _answer(new))
        for file, side, reply, future in (
            (pair.before, pair.old, inventory.old, old),
            (pair.after, pair.new, inventory.new, new),
        ):
            if settings.cache and isinstance(future, Future) and isinstance(reply, (Kernels, Failure)):
                settings.cache.keep_kernels(file, side, settings.limits, reply)
        found.note_reads(pair, ((pair.old, inventory.old.reads), (pair.new, inventory.new.reads)))
        found.kernels[pair.before] = len(inventory.kernels)
        yield inventory


def _answer(reply: Reply | Future[Reply]) -> Reply:
    return reply.result() if isinstance(reply, Future) else reply


def _kernels_in(workers: Pool, file: str, side: Side, settings: Settings) -> Reply | Future[Reply]:
    known = settings.cache.kernels(file, side, settings.limits) if settings.cache else None
    return known or workers.submit(request("kernels", file, side, settings.limits))


@dataclass(frozen=True)
class _Step:
    """One item of the plan: a result that needs no run, or a task with what is known or under way."""

    result: CaseResult | None = None
    task: Task | None = None
    known: Judged | None = None
    running: Running | None = None


def _results(
    workers: Pool, plan: Sequence[Wish | CaseResult], settings: Settings, found: Evidence
) -> Iterator[CaseResult]:
    """The results in the order of the plan; only so many cases run ahead that their records fit into memory."""
    waiting: deque[_Step] = deque()
    ahead = _AHEAD * (settings.jobs or 2)
    for item in plan:
        waiting.append(_Step(item) if isinstance(item, CaseResult) else _step(workers, item, settings))
        while len(waiting) > ahead:
            yield _result(waiting.popleft(), settings, found)
    while waiting:
        yield _result(waiting.popleft(), settings, found)


def _step(workers: Pool, wish: Wish, settings: Settings) -> _Step:
    task = Task.of(wish.pair, wish.case, settings.levels, settings.hardware, settings.limits, settings.inexact)
    known = settings.cache.judged(task) if settings.cache else None
    return _Step(task=task, known=known) if known else _Step(task=task, running=started(workers, task))


def _result(step: _Step, settings: Settings, found: Evidence) -> CaseResult:
    if step.result is not None or step.task is None:
        assert step.result is not None
        return step.result
    found.tasks.append(step.task)
    ended = step.known
    if ended is None:
        assert step.running is not None
        ended = step.running.judged()
        if settings.cache:
            settings.cache.keep_judged(step.task, ended)
    found.note_reads(step.task.pair, zip((step.task.pair.old, step.task.pair.new), ended.reads, strict=True))
    return ended.result
