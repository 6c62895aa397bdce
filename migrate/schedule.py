"""In which order cases run: the slowest first, as many at a time as there are processes, until one disagrees if asked.

How long a case takes is known from its last run, whatever the kernel was then; else it is estimated by the size of its
tensors. What a run leaves behind is large: it is judged as soon as both sides have ended, and goes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from dataclasses import dataclass

from nki_migrate.runtime.compare import Verdict
from nki_migrate.runtime.pool import Workers

from .judging import Judged, Running, Task, started
from .progress import Progress
from .proof_cache import Cache
from .variants import weight

_LEAST = 0.1
"""Seconds of a case that computes next to nothing."""
_ELEMENT = 1e-6
"""Seconds for each element of the arguments: instructions touch them several times, recorded and compared."""
_LOOK = 0.25
"""Seconds between two looks at the clock, for whom progress is shown."""


@dataclass
class _Turn:
    """A case that was started, by its position."""

    position: int
    running: Running
    began: float


def expected_seconds(task: Task, cache: Cache | None) -> float:
    """How long both runs of a case will take, as far as it can be told."""
    known = cache.entry(_question(task)) if cache else None
    if isinstance(known, float):
        return known
    elements, programs, _ = weight(task.case)
    return _LEAST + _ELEMENT * elements + _LEAST * programs / 10


def judgements(
    workers: Workers, tasks: Sequence[Task], cache: Cache | None, progress: Progress, *, fail_fast: bool
) -> list[Judged | None]:
    """What became of each task. ``None`` stands for one that did not run: with ``fail_fast`` the first case that is not
    equal ends it all.
    """
    found = [cache.judged(task) if cache else None for task in tasks]
    seconds = [0.0 if known else expected_seconds(task, cache) for task, known in zip(tasks, found, strict=True)]
    if fail_fast and any(known and _disagrees(known) for known in found):
        return found
    left = sorted((n for n, known in enumerate(found) if known is None), key=lambda n: -seconds[n])
    under_way: list[_Turn] = []
    most = workers.width + 1
    progress.begin(len(tasks), len(tasks) - len(left), sum(seconds))

    def stops() -> bool:
        return fail_fast and any(known and _disagrees(known) for known in found)

    while (left or under_way) and not stops():
        while left and len(under_way) < most:
            position = left.pop(0)
            under_way.append(_Turn(position, started(workers, tasks[position]), time.monotonic()))
        for turn in _ended(under_way, lambda: _show(progress, tasks, under_way)):
            under_way.remove(turn)
            judged = found[turn.position] = turn.running.judged()
            progress.ended(seconds[turn.position])
            if cache:
                cache.keep_judged(tasks[turn.position], judged)
                if judged.result.seconds:
                    cache.keep_entry(_question(tasks[turn.position]), judged.result.seconds)
    progress.end()
    return found


def _ended(under_way: Sequence[_Turn], look: Callable[[], None]) -> list[_Turn]:
    """The cases that have ended, at least one."""
    while True:
        ended = [turn for turn in under_way if all(future.done() for future in turn.running.futures)]
        if ended:
            return ended
        look()
        wait([f for turn in under_way for f in turn.running.futures if not f.done()], _LOOK, FIRST_COMPLETED)


def _show(progress: Progress, tasks: Sequence[Task], under_way: Sequence[_Turn]) -> None:
    now = time.monotonic()
    progress.show([(f"{tasks[turn.position].case.kernel}", now - turn.began) for turn in under_way])


def _disagrees(judged: Judged) -> bool:
    return judged.result.verdict is not Verdict.EQUAL


def _question(task: Task) -> str:
    """What the time of a case is kept for: no content of a file is part of it."""
    case = task.case
    return "\n".join(("seconds", os.path.abspath(task.pair.before), repr(case), task.hardware))
