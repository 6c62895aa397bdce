"""Seconds that a process had, however many others share the machine with it.

A limit in seconds of the clock says more about the other work of a machine than about a kernel. A process's seconds
here are those in which it computed, slept, or waited for a file; those in which it only waited for a processor do not
count. On an idle machine they are the seconds of the clock.
"""

from __future__ import annotations

import os
import time

_PROCESSES = "/proc"


class Stopwatch:
    """Begins when it is made; ``process`` is the number of another process, by default it is this one.

    What a process waited for a processor is known on Linux, of its first thread; elsewhere nothing is taken off.
    """

    def __init__(self, process: int | None = None) -> None:
        self._file = f"{_PROCESSES}/{process or os.getpid()}/schedstat"
        self._waited = 0.0
        self._before = self._waiting()
        self._began = time.monotonic()

    @property
    def seconds(self) -> float:
        """Seconds since the beginning, without those that the process waited for a processor."""
        return max(time.monotonic() - self._began - (self._waiting() - self._before), 0.0)

    def _waiting(self) -> float:
        """Seconds that the process has waited for a processor in its life; what was last known when it has ended."""
        try:
            with open(self._file, "rb", buffering=0) as file:
                self._waited = int(file.read().split()[1]) / 1e9
        except (OSError, IndexError, ValueError):
            return self._waited
        return self._waited
