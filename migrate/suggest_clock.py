"""The seconds that the search for cases has used, however many other processes share the machine with it."""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

Over = Callable[[], bool]
"""Is the time over?"""


@dataclass
class Clock:
    """What this process has computed since the clock was made, and what its ``width`` workers have run, side by side.

    A search that ends by it tries as many proposals on a loaded machine as on an idle one.
    """

    width: int
    _ran: float = 0.0
    _began: float = field(default_factory=lambda: time.process_time())

    @property
    def seconds(self) -> float:
        return self._ran + time.process_time() - self._began

    def add(self, runs: Sequence[float]) -> None:
        """Runs of so many seconds each have ended that began together, as many at a time as there are workers."""
        ends = [0.0] * max(self.width, 1)
        for seconds in runs:
            heapq.heapreplace(ends, ends[0] + seconds)
        self._ran += max(ends)

    def over(self, at: float) -> Over:
        """Has the clock come to ``at``?"""
        return lambda: self.seconds >= at
