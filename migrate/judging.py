"""One case on both sides: run it, and judge what the runs left behind."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace

from nki_migrate.runtime.cases import Case
from nki_migrate.runtime.compare import (
    Failure,
    Inexact,
    LevelVerdict,
    Place,
    Run,
    TileMatch,
    Verdict,
    compare_layout,
    compare_numbers,
    compare_operands,
    compare_with_reference,
    matched_tiles,
    outputs_from,
    walked,
    worst,
)
from nki_migrate.runtime.compare.condition import Condition, Sides
from nki_migrate.runtime.compare.verdict import MAX_DIFFERENCES
from nki_migrate.runtime.dialect import memory_of
from nki_migrate.runtime.hazards import Hazard
from nki_migrate.runtime.messages import DEFAULT_MEMORY, DEFAULT_SECONDS, Reference, Reply, Request
from nki_migrate.runtime.pool import Workers
from nki_migrate.runtime.reading import Reads

from .claims import language_of
from .nki_versions import version_of
from .sides import ON_DISK, Side, named
from .spans import spans_of
from .tile_map import mapped
from .verdicts import CaseResult, Problem


@dataclass(frozen=True)
class Pair:
    """Two versions of one file, by the user's names."""

    before: str
    after: str
    old: Side = ON_DISK
    new: Side = ON_DISK

    @property
    def labels(self) -> tuple[str, str]:
        return self.old.label, self.new.label

    def at(self, source: str, target: str) -> Pair:
        """The pair as the old version of NKI ``source`` and the new version ``target``; empty: as each tells."""
        old = replace(self.old, target=source or self.old.target)
        return replace(self, old=old, new=replace(self.new, target=target or self.new.target))


@dataclass(frozen=True)
class Limits:
    """What one run may use: seconds of its process (:mod:`.runtime.stopwatch`), bytes of address space."""

    seconds: float = DEFAULT_SECONDS
    memory: int = DEFAULT_MEMORY


DEFAULT_LIMITS = Limits()


@dataclass(frozen=True)
class Task:
    """One case to run on both sides, and to compare at ``levels``; ``inexact`` is what is declared of its numbers."""

    pair: Pair
    case: Case
    levels: Sequence[str]
    hardware: str
    limits: Limits = DEFAULT_LIMITS
    inexact: Inexact | None = None

    @staticmethod
    def of(
        pair: Pair,
        case: Case,
        levels: Sequence[str],
        hardware: str | None,
        limits: Limits,
        inexact: Inexact | None = None,
    ) -> Task:
        """``hardware`` is what the user asks for; else the case's own, else the default.

        ``inexact`` is what the user declares; it holds besides what the rewrite and the case do.
        """
        own = Inexact(case.ulps, "the case") if case.ulps else None
        declared = [each for each in (pair.new.inexact, own, inexact) if each is not None]
        most = max(declared, key=lambda each: each.ulps, default=None)
        chosen = hardware or case.hardware or memory_of(language_at(pair.before, pair.old)).default
        return Task(pair, case, levels, chosen, limits, most)


@dataclass(frozen=True)
class Judged:
    """A result, what each side read for it, whether it would be the same again, and the versions of NKI of the runs."""

    result: CaseResult
    reads: tuple[Reads, Reads]
    lasting: bool
    versions: tuple[str, str] = ("", "")


@dataclass(frozen=True)
class Searched:
    """What a search of one kernel found: a note on what was tried, a result if something disagrees; else as above.

    ``conditions`` say how those of both versions went in what agreed.
    """

    note: str
    result: CaseResult | None
    reads: tuple[Reads, Reads]
    lasting: bool
    conditions: Sides = ((), ())


@dataclass(frozen=True)
class Running:
    """A case whose runs were submitted."""

    task: Task
    before: Future[Reply]
    after: Future[Reply]
    reference: Future[Reply] | None
    workers: Workers

    @property
    def futures(self) -> tuple[Future[Reply], ...]:
        """The runs, that of the reference among them."""
        return (self.before, self.after) if self.reference is None else (self.before, self.after, self.reference)

    def judged(self) -> Judged:
        """Wait for the runs and compare them."""
        task = self.task
        expected = None if self.reference is None else self.reference.result()
        before, after = self.before.result(), self.after.result()
        result = judged(
            task.case, task.levels, before, after, expected, task.pair, task.inexact, by_reciprocal(self.workers, task)
        )
        result = replace(result, before=task.pair.before, after=task.pair.after, hardware=task.hardware)
        if isinstance(before, Run) and isinstance(after, Run):
            sides = (before, task.pair.old), (after, task.pair.new)
            result = replace(
                result,
                hazards=(_hazards(*sides[0]), _hazards(*sides[1])),
                conditions=(conditions_of(*sides[0]), conditions_of(*sides[1])),
                spans=(spans_of(before), spans_of(after)),
            )
        replies = [before, after] if expected is None else [before, after, expected]
        lasting = all(reply.lasting for reply in replies if isinstance(reply, Failure))
        reads = before.reads, after.reads if expected is None else union(after.reads, expected.reads)
        pair, asked = task.pair, task.case.target
        versions = nki_version(pair.before, pair.old, asked), nki_version(pair.after, pair.new, asked)
        return Judged(result, reads, lasting, versions)


def _hazards(run: Run, side: Side) -> tuple[Hazard, ...]:
    """The hazards of one side, with its files as the user knows them."""
    known = functools.partial(_known, side)
    return tuple(replace(found, first=known(found.first), second=known(found.second)) for found in run.hazards)


def conditions_of(run: Run, side: Side) -> tuple[Condition, ...]:
    """How the conditions of one side went, with its files as the user knows them."""
    return tuple(replace(condition, file=side.known(condition.file)) for condition in run.conditions)


def _known(side: Side, place: Place) -> Place:
    found = side.place(place)
    return place if found is None else found


def union(a: Reads, b: Reads) -> Reads:
    """What two runs read together."""
    return Reads(
        tuple(sorted({*a.files, *b.files})),
        tuple(sorted({*a.directories, *b.directories})),
        tuple(sorted({*a.variables, *b.variables})),
    )


def request(kind: str, file: str, side: Side, limits: Limits, case: Case | None = None, hardware: str = "") -> Request:
    """What to ask a worker about ``file`` (the user's name) on one side."""
    side.prepare()
    language = language_at(file, side)
    target = hardware or memory_of(language).default
    located = side.located(file)
    if case is not None and language == "nki":
        case = replace(case, target=nki_version(file, side, case.target))
    return Request(kind, located, case, target, limits.seconds, limits.memory, side.version, language=language)


def nki_version(file: str, side: Side, asked: str) -> str:
    """The version of NKI that a case runs as on one side: what the side is written for, else as the file shows.

    ``asked`` is what the case says, empty if it does not.
    """
    if side.target and (not side.version.overlay or side.label_of(file)):
        return side.target
    try:
        data = side.content(side.located(file))
    except OSError:
        return asked  # the worker says what is wrong with it
    return version_of(data, asked)


def language_at(file: str, side: Side) -> str:
    """The language of the kernels of ``file`` (the user's name) on one side."""
    try:
        return language_of(side.content(side.located(file)))
    except OSError:
        return "nki"  # the worker says what is wrong with it


def started(workers: Workers, task: Task) -> Running:
    pair, case = task.pair, task.case

    def submitted(kind: str, file: str, side: Side, *, function: bool = False) -> Future[Reply]:
        asked = request(kind, file, side, task.limits, case, task.hardware)
        is_run = kind == "run"
        return workers.submit(replace(asked, hazards=is_run, conditions=is_run, function=function))

    before = submitted("run", pair.before, pair.old)
    after = submitted("run", pair.after, pair.new, function=bool(pair.new.label) and not pair.new.version.tree)
    if case.reference is None or "numbers" not in task.levels:
        return Running(task, before, after, None, workers)
    # A reference belongs to the case, and cases are those on disk, whatever the old kernel's version is.
    known = (pair.after, pair.new) if pair.old.version.tree else (pair.before, pair.old)
    return Running(task, before, after, submitted("reference", *known), workers)


def by_reciprocal(workers: Workers, task: Task) -> Callable[[], Reply]:
    """Runs the old kernel once more, its quotients computed as the new one does (:mod:`.runtime.isa.quotients`)."""
    asked = request("run", task.pair.before, task.pair.old, task.limits, task.case, task.hardware)
    return lambda: workers.submit(replace(asked, by_reciprocal=True)).result()


_NO_PAIR = Pair("", "")


def judged(
    case: Case,
    levels: Sequence[str],
    before: Reply,
    after: Reply,
    expected: Reply | None,
    pair: Pair = _NO_PAIR,
    inexact: Inexact | None = None,
    again: Callable[[], Reply | None] = lambda: None,
) -> CaseResult:
    """The verdicts of one case. A side that did not run decides every level; a reference is judged on its own.

    ``again`` runs the old kernel with its quotients computed as the new one does.
    """
    replies = (("before", before, pair.old), ("after", after, pair.new), ("reference", expected, pair.old))
    problems = tuple(problem_of(name, reply, side) for name, reply, side in replies if isinstance(reply, Failure))
    result = CaseResult("", "", case.kernel, case.name, problems=problems, labels=pair.labels)
    if not isinstance(before, Run) or not isinstance(after, Run):
        stopped = [problem for problem in problems if problem.side != "reference"]
        verdict = worst([problem.verdict for problem in stopped])
        summary = f"not compared: {' and '.join(problem.side for problem in stopped)} did not run to the end"
        return replace(result, levels=tuple(LevelVerdict(level, verdict, summary) for level in levels))
    verdicts, matches = _compared(before, after, levels, inexact, again)
    reference = []
    if isinstance(expected, Reference):
        reference.append(_agreement("before", Verdict.ERROR, before, expected, case))
        reference.append(_agreement("after", Verdict.DIFFERENT, after, expected, case))
    olds, news = before.distinct_tiles, after.distinct_tiles
    return replace(
        result,
        levels=tuple(named(verdict, pair.old, pair.new) for verdict in verdicts),
        reference=tuple(reference),
        tiles=(tuple(map(pair.old.tile, olds)), tuple(map(pair.new.tile, news))),
        matches=mapped(matches, pair.new.moves),
        seconds=before.seconds + after.seconds,
        language=after.language,
    )


def _compared(
    before: Run, after: Run, levels: Sequence[str], inexact: Inexact | None, again: Callable[[], Reply | None]
) -> tuple[list[LevelVerdict], tuple[TileMatch, ...]]:
    """The verdict of each level, and which tile stands for which; the instruction streams are walked once."""
    walks = walked(before, after, inexact=inexact) if "operands" in levels else []
    outputs = frozenset().union(*(outputs_from(walk.new, walk.divided) for walk in walks))

    def numbers() -> LevelVerdict:
        verdict = compare_numbers(before, after, inexact=inexact, outputs=outputs)
        if verdict.verdict is Verdict.EQUAL or not outputs or inexact is None or not inexact.of_quotients:
            return verdict
        other = again()
        if not isinstance(other, Run) or len(other.outputs) != len(before.outputs):
            return verdict
        return compare_numbers(before, after, inexact=inexact, outputs=outputs, again=other)

    compare: dict[str, Callable[[], LevelVerdict]] = {
        "layout": lambda: compare_layout(before, after),
        "operands": lambda: compare_operands(before, after, walks=walks),
        "numbers": numbers,
    }
    return [compare[level]() for level in levels], matched_tiles(walks)


def _agreement(side: str, otherwise: Verdict, run: Run, expected: Reference, case: Case) -> LevelVerdict:
    """One side against the NumPy reference. The old kernel must agree with its own: else the case is in error."""
    differences = compare_with_reference(
        run, [packed.array() for packed in expected.outputs], rtol=case.rtol, atol=case.atol
    )
    if not differences:
        return LevelVerdict(side, Verdict.EQUAL, f"agrees within rtol {case.rtol:g} and atol {case.atol:g}")
    summary = "does not agree with its own reference" if side == "before" else "does not agree with the reference"
    return LevelVerdict(side, otherwise, summary, tuple(differences[:MAX_DIFFERENCES]), len(differences))


def problem_of(name: str, failure: Failure, side: Side) -> Problem:
    verdict = Verdict.UNDECIDED if failure.undecided else Verdict.ERROR
    label = side.label_of(failure.file)
    return Problem(
        name, verdict, side.known_text(failure.message), side.known(failure.file), failure.line, failure.help, label
    )
