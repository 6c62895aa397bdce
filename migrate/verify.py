"""``nki-migrate verify``: run two versions of kernels on the emulator, compare them at three levels.

Kernels are paired by name, files of two directories by their relative path. A kernel is verified by its cases; one
without a case is *undecided*, with what to do. The exit code is 0 only if everything is equal; 2 if anything is
undecided or in error, whatever else was found; else 1: a difference is the last word only when all else was decided.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nki_migrate.runtime.compare import LEVELS, Failure, Inexact, Verdict
from nki_migrate.runtime.compare.condition import Sides
from nki_migrate.runtime.messages import Kernels, Reply
from nki_migrate.runtime.pool import Workers, pool
from nki_migrate.runtime.reading import Reads

from .errors import InputError
from .judging import DEFAULT_LIMITS, Limits, Pair, Task, judged, request
from .output import plural
from .planning import ALL, Choice, Inventory, Wish, check_kernels, file_pairs, notes, planned
from .progress import Progress
from .proof_cache import Cache
from .reports import Report, imports_beta1
from .schedule import judgements
from .sides import Side
from .surfaces import print_proof
from .unseen import unseen
from .verdicts import CaseResult, Problem, Proof

if TYPE_CHECKING:
    from .cluster import Cluster

__all__ = ["Evidence", "Settings", "evidence", "judged", "proved", "run"]


@dataclass(frozen=True)
class Settings:
    """How to verify.

    ``levels`` are compared, ``hardware`` overrides the cases' own. ``cache`` keeps verdicts where there is one. Without
    ``execute`` nothing runs, and everything is undecided. ``strict``: so are kernels whose cases do not show both sides
    of their conditions. ``inexact`` is what the user declares about all numbers. ``fail_fast``: run nothing more behind
    the first case that is not equal. ``searches``: a search follows, which may show more of the conditions. ``cluster``
    runs the kernels, where there is one.
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
    fail_fast: bool = False
    searches: bool = False
    cluster: Cluster | None = None

    def workers(self) -> AbstractContextManager[Workers]:
        """What runs kernels: processes of this machine, or of the cluster."""
        return pool(self.jobs) if self.cluster is None else self.cluster.emulators()


@dataclass
class Evidence:
    """A proof, with the tasks it rests on, and what was read for each file (by the user's name of its old version).

    ``versions`` are those of NKI that both sides ran as, by pair and the version that the case asks for; ``searched``
    the conditions that a search asked, by file and kernel.
    For the report: ``reports`` of the rewrite that was verified, ``contents`` of versions that are not on disk, by path
    and label.
    """

    results: list[CaseResult] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    tasks: list[Task] = field(default_factory=list)
    reads: dict[str, set[str]] = field(default_factory=dict)
    kernels: dict[str, int] = field(default_factory=dict)
    versions: dict[tuple[Pair, str], tuple[str, str]] = field(default_factory=dict)
    searched: dict[tuple[str, str], Sides] = field(default_factory=dict)
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
    with settings.workers() as workers:
        inventories = list(_inventories(workers, pairs, settings, found))
        check_kernels(settings.choice.kernels, inventories, asked)
        plan = list(planned(inventories, settings.choice))
        _judged(workers, plan, settings, found)
    if not found.results and not may_be_empty and not any(inventory.unchanged for inventory in inventories):
        raise InputError(f"{asked}: no kernel found: a kernel is a function decorated with nki.jit")
    found.notes[:0] = [*_versions(found.versions), *notes(inventories, settings.choice), *_abridged(plan)]
    if not settings.searches:
        say_unseen(found, settings)
    return found


def _abridged(plan: Sequence[Wish | CaseResult]) -> Iterator[str]:
    """Which cases show the ends of loops only."""
    cut = [wish for wish in plan if isinstance(wish, Wish) and wish.case.abridged]
    for file in dict.fromkeys(wish.pair.before for wish in cut):
        named = ", ".join(f"{wish.case.kernel}, {wish.case.name}" for wish in cut if wish.pair.before == file)
        yield f"{file}: abridged, so that loops of NKI took their first two steps and their last: {named}"


def say_unseen(found: Evidence, settings: Settings) -> None:
    """Add what no case showed, those of a search among them: notes, or undecided results where that is ``strict``."""
    missed = list(unseen(found.results, found.searched))
    found.notes += [each.note for each in missed]
    if settings.strict:
        found.results += [each.undecided for each in missed]


def _versions(ran: Mapping[tuple[Pair, str], tuple[str, str]]) -> Iterator[str]:
    """Which files run as two versions of NKI, and what says so of the old one. Beta 1 is no version of ``nki``."""
    for (pair, asked), (old, new) in ran.items():
        if old != new and not imports_beta1(pair.old.content(pair.old.located(pair.before))):
            how = "--from" if pair.old.target else "its case says so" if asked == old else "by what it shows"
            yield f"{pair.before}: the old version runs as NKI {old} ({how}), the new one as NKI {new}"


def _forbidden(pair: Pair) -> CaseResult:
    problem = Problem("case", Verdict.UNDECIDED, "execution forbidden (--no-execute)")
    return CaseResult(pair.before, pair.after, problems=(problem,), labels=pair.labels)


def _inventories(workers: Workers, pairs: Sequence[Pair], settings: Settings, found: Evidence) -> Iterator[Inventory]:
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


def _kernels_in(workers: Workers, file: str, side: Side, settings: Settings) -> Reply | Future[Reply]:
    known = settings.cache.kernels(file, side, settings.limits) if settings.cache else None
    return known or workers.submit(request("kernels", file, side, settings.limits))


def _judged(workers: Workers, plan: Sequence[Wish | CaseResult], settings: Settings, found: Evidence) -> None:
    """Run what is planned, and add the results to ``found`` in the order of the plan."""
    wishes = {n: _task(item, settings) for n, item in enumerate(plan) if isinstance(item, Wish)}
    tasks = list(wishes.values())
    ended = judgements(workers, tasks, settings.cache, Progress(), fail_fast=settings.fail_fast)
    judged = dict(zip(wishes, ended, strict=True))
    for number, item in enumerate(plan):
        if isinstance(item, CaseResult):
            found.results.append(item)
            continue
        known, task = judged[number], wishes[number]
        if known is not None:
            found.tasks.append(task)
            found.versions[task.pair, task.case.target] = known.versions
            found.note_reads(task.pair, zip((task.pair.old, task.pair.new), known.reads, strict=True))
            found.results.append(known.result)
    missing = sum(each is None for each in ended)
    if missing:
        found.notes.append(f"--fail-fast: {plural(missing, 'case')} did not run, after the first that is not equal")


def _task(wish: Wish, settings: Settings) -> Task:
    return Task.of(wish.pair, wish.case, settings.levels, settings.hardware, settings.limits, settings.inexact)
