"""``verify --search SECONDS``: look for sizes, types, grids and seeds at which two versions of a kernel disagree.

The old kernel says what is allowed: where it fails, the variation is none. Edge sizes are tried whatever the time; the
rest as long as it lasts, shared by the kernels. What disagrees is shrunk to its smallest case. What a search came to is
kept like the verdict of a case, for the same time.

Where the new kernel stops and says that it is not written for such sizes, that is no disagreement but a note: at an
assertion of a rewrite, where a size is 1 that the case has larger, and an instruction refuses what Beta 1 repeats,
where tensors have other types than the case's, and a matmul refuses them, and where the old kernel has operands of no
elements.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path

from nki_migrate.codemods.expr.emission import WRITTEN_FOR
from nki_migrate.runtime.cases import Case
from nki_migrate.runtime.compare import Failure, Run, Verdict
from nki_migrate.runtime.compare.condition import Sides, together
from nki_migrate.runtime.events import NOTHING
from nki_migrate.runtime.messages import Reply
from nki_migrate.runtime.pool import Workers
from nki_migrate.runtime.reading import Reads, is_standard

from .case_text import case_toml
from .judging import Searched, Task, by_reciprocal, conditions_of, judged, request, union
from .output import plural
from .sides import Side
from .thresholds import Threshold, proposed, thresholds
from .variants import edges, has_ones, has_other_types, smaller, variations, weight
from .verdicts import CaseResult
from .verify import Evidence, Settings

_ASSERTED = "AssertionError: " + WRITTEN_FOR.removeprefix('"')
_SAID_BY = re.compile(r"AssertionError: (\w+): ")
_BATCH = 4
_SHRINKING = 200
"""Cases that shrinking may try; it is not part of the time of the search."""
AT_THRESHOLDS = 96
"""Variations of each case at the thresholds of both sources that are tried whatever the time; more, as it lasts."""


@dataclass
class Tally:
    """``compared`` variations agreed or not; ``refused`` were none of the old kernel's, ``undecided`` the new one's.

    ``stopped`` are those at which the new kernel says that it is not written for them, ``said`` what it says, by line.

    ``reads`` is what the runs of each side read; ``lasting``: would each of them end the same again? ``conditions``
    are those of the variations that agreed.
    """

    compared: int = 0
    refused: int = 0
    undecided: int = 0
    stopped: int = 0
    said: dict[int, str] = field(default_factory=dict)
    reads: tuple[Reads, Reads] = (Reads(), Reads())
    lasting: bool = True
    conditions: Sides = ((), ())

    def note(self, old: Reply, new: Reply | None = None) -> None:
        """A run of the old kernel, or one of each."""
        sides = old.reads, Reads() if new is None else new.reads
        self.reads = union(self.reads[0], sides[0]), union(self.reads[1], sides[1])
        self.lasting &= all(reply.lasting for reply in (old, new) if isinstance(reply, Failure))


def searched(found: Evidence, settings: Settings, seconds: float) -> None:
    """Add to ``found`` a result for each kernel that disagrees somewhere, and a note for each that does not."""
    equal = {(r.before, r.kernel, r.case) for r in found.results if r.verdict is Verdict.EQUAL}
    kernels: dict[tuple[str, str], list[Task]] = {}
    for task in found.tasks:
        if (task.pair.before, task.case.kernel, task.case.name) in equal:
            kernels.setdefault((task.pair.before, task.case.kernel), []).append(task)
    if not kernels:
        found.notes.append("nothing was searched: no case is equal")
        return
    share = seconds / len(kernels)
    with settings.workers() as workers:
        for (file, kernel), tasks in kernels.items():
            known = settings.cache.searched(tasks, share) if settings.cache else None
            ended = known or _searched(workers, tasks, share, _thresholds(tasks[0], found.reads.get(file, set())))
            if settings.cache and known is None:
                settings.cache.keep_searched(tasks, share, ended)
            found.notes.append(f"{file}: {kernel}: search: {ended.note}")
            found.searched[file, kernel] = ended.conditions
            found.results += [ended.result] if ended.result is not None else []


def _thresholds(task: Task, reads: Iterable[str]) -> list[Threshold]:
    """The thresholds of both versions of the kernel's file, and of the files that running them read.

    Python's own library and numpy have none: a ``reference`` reads them, and their sources are long.
    """
    pair = task.pair
    texts: list[list[str]] = []
    read = [path for path in sorted(reads) if path.endswith(".py") and not is_standard(path)]
    for own, side in ((pair.before, pair.old), (pair.after, pair.new)):
        others = {os.path.realpath(file) for file in (pair.before, pair.after)}
        paths = [own, *(path for path in read if path not in others)]
        texts.append([text for path in paths if (text := _parsable(side, path))])
    return thresholds(*texts)


def _parsable(side: Side, path: str) -> str:
    """The Python source at ``path`` on one side; empty where there is none."""
    try:
        text = importlib.util.decode_source(side.content(side.located(path)))
        ast.parse(text)
        return text
    except (OSError, SyntaxError, ValueError, RecursionError):
        return ""


def _searched(workers: Workers, tasks: Sequence[Task], seconds: float, known: Sequence[Threshold]) -> Searched:
    """Search one kernel."""
    deadline = time.monotonic() + seconds
    tally = Tally()
    first = _first_disagreement(workers, tasks, deadline, tally, known)
    tried = f"{plural(tally.compared, 'variation')} compared, {tally.refused} refused by the old kernel"
    if tally.undecided:
        tried += f", {tally.undecided} undecided"
    if tally.stopped:
        said = "; ".join(f"line {line}: {message}" for line, message in sorted(tally.said.items()))
        tried += f", {tally.stopped} stopped by the new kernel, which is not written for them ({said})"
    if first is None:
        return Searched(f"{tried}: none disagrees", None, tally.reads, tally.lasting, tally.conditions)
    task, result = _shrunk(workers, *first)
    text = case_toml(task.case, Path(task.case.file).absolute().parent).rstrip()
    return Searched(
        f"{tried}: the smallest case that disagrees:\n{text}", result, tally.reads, tally.lasting, tally.conditions
    )


def _first_disagreement(
    workers: Workers, tasks: Sequence[Task], deadline: float, tally: Tally, known: Sequence[Threshold]
) -> tuple[Task, CaseResult, Case] | None:
    """The first variation with different results; without one, the first that only the new kernel refuses."""
    asked = [(task, proposed(task.case, known)) for task in tasks]
    required = chain(
        _in_turn([(task, islice(variants, AT_THRESHOLDS)) for task, variants in asked]),
        ((task, variant) for task in tasks for variant in edges(task.case)),
    )
    optional = chain(_in_turn(asked), _in_turn([(task, variations(task.case)) for task in tasks]))
    refused: tuple[Task, CaseResult, Case] | None = None  # the new kernel stops: the search goes on for what is worse
    for batch in _batches(required):
        for found in _disagreeing(workers, batch, tally):
            if found[1].verdict is Verdict.DIFFERENT:
                return found
            refused = refused or found
        if refused is not None and time.monotonic() >= deadline:
            return refused
    while time.monotonic() < deadline and (batch := list(islice(optional, _BATCH))):
        for found in _disagreeing(workers, batch, tally):
            if found[1].verdict is Verdict.DIFFERENT:
                return found
            refused = refused or found
    return refused


def _in_turn(sources: Sequence[tuple[Task, Iterator[Case]]]) -> Iterator[tuple[Task, Case]]:
    """A variation of each task, in turn."""
    while sources:
        left: list[tuple[Task, Iterator[Case]]] = []
        for task, source in sources:
            variant = next(source, None)
            if variant is not None:
                left.append((task, source))
                yield task, variant
        sources = left


def _batches(pairs: Iterator[tuple[Task, Case]]) -> Iterator[list[tuple[Task, Case]]]:
    while batch := list(islice(pairs, _BATCH)):
        yield batch


def _disagreeing(
    workers: Workers, batch: Sequence[tuple[Task, Case]], tally: Tally
) -> Iterator[tuple[Task, CaseResult, Case]]:
    """The variations that disagree. The new kernel runs only where the old one did."""
    tasks = [(replace(task, case=replace(variant, name=_name(variant))), task.case) for task, variant in batch]
    olds = [_asked(workers, task, before=True) for task, _ in tasks]
    ran = [(task, original, old.result()) for (task, original), old in zip(tasks, olds, strict=True)]
    tally.refused += sum(not isinstance(old, Run) for _, _, old in ran)
    for _, _, old in ran:
        tally.note(old)
    news = [
        (task, original, old, _asked(workers, task, before=False))
        for task, original, old in ran
        if isinstance(old, Run)
    ]
    for task, original, old, future in news:
        new = future.result()
        tally.note(old, new)
        if isinstance(new, Failure) and (new.undecided or not new.lasting):
            tally.undecided += 1
            continue
        if isinstance(new, Failure) and (_is_said(new, task, original) or _touches_nothing(old)):
            tally.stopped += 1
            tally.said.setdefault(new.line, new.message)
            continue
        tally.compared += 1
        pair = task.pair
        again = by_reciprocal(workers, task)
        result = judged(replace(task.case, reference=None), task.levels, old, new, None, pair, task.inexact, again)
        result = replace(result, before=pair.before, after=pair.after, hardware=task.hardware)
        if result.verdict is not Verdict.EQUAL:
            yield task, result, original
        elif isinstance(new, Run):
            asked = conditions_of(old, pair.old), conditions_of(new, pair.new)
            tally.conditions = together([tally.conditions, asked])


def _is_said(new: Failure, task: Task, original: Case) -> bool:
    """Does the new kernel stop by what a rewrite asserts, or for sizes or types that only Beta 1 takes?"""
    asserted = _ASSERTED in new.message or _is_added_function(new.message, task)
    sized = new.of_sizes and has_ones(task.case, original)
    return asserted or sized or (new.of_types and has_other_types(task.case, original))


def _is_added_function(message: str, task: Task) -> bool:
    """Does an assertion say that it is one of a function that only the new file defines? A rewrite added it."""
    said = _SAID_BY.search(message)
    if said is None:
        return False
    sides = (task.pair.old, task.pair.before), (task.pair.new, task.pair.after)
    old, new = (re.search(rf"^def {said[1]}\(", _parsable(*side), re.MULTILINE) is not None for side in sides)
    return new and not old


def _touches_nothing(old: Run) -> bool:
    """Is there an instruction of the old kernel with an operand of no elements? Beta 2 refuses many of these."""
    events = (event for program in old.programs for event in program.events)
    return any(operand.steps == NOTHING for event in events for operand in event.operands)


def _asked(workers: Workers, task: Task, *, before: bool) -> Future[Reply]:
    file, side = (task.pair.before, task.pair.old) if before else (task.pair.after, task.pair.new)
    asked = request("run", file, side, task.limits, task.case, task.hardware)
    return workers.submit(replace(asked, conditions=True))


def _name(case: Case) -> str:
    shapes = [
        f"{name} {'x'.join(map(str, value.shape))}" for name, value in case.args.items() if hasattr(value, "shape")
    ]
    return f"search: {', '.join(shapes)}"


def _shrunk(workers: Workers, task: Task, result: CaseResult, original: Case) -> tuple[Task, CaseResult]:
    """The smallest case that was found to disagree with the same verdict, and its result."""
    best = task, result
    left = _SHRINKING
    improved = True
    while improved and left > 0:
        improved = False
        now = best[0].case
        candidates = (c for c in smaller(now, original) if weight(c) < weight(now) or c.seed != now.seed)
        while not improved and left > 0 and (batch := list(islice(candidates, _BATCH))):
            left -= len(batch)
            found = [
                (other, verdict)
                for other, verdict, _ in _disagreeing(workers, [(best[0], case) for case in batch], Tally())
                if verdict.verdict is result.verdict
            ]
            if found:
                best = min(found, key=lambda item: weight(item[0].case))
                improved = True
    return best
