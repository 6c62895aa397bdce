"""The programs of a launch: one after the other, and hand in hand where ``nl.all_reduce`` makes them wait.

Each program has a thread of its own, but only one runs at a time, in row-major order of the grid: the numbers of a
launch do not depend on timing. A program that waits for the values of others hands over to the next one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .. import process
from ..errors import KernelError
from ..memory import Array

Program = tuple[int, ...]


class _Abandoned(Exception):
    """Another program failed: this one ends where it waits."""


@dataclass(eq=False)
class _Meeting:
    """One ``all_reduce`` of one group of programs: what each has brought so far."""

    group: tuple[Program, ...]
    values: dict[Program, Array] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        return len(self.values) == len(self.group)


class Ensemble:
    """The running programs of one launch. ``order`` are their ids."""

    def __init__(self, order: list[Program]) -> None:
        self.order = order
        self._turn = threading.Condition()
        self._running: Program | None = None
        self._waiting: dict[Program, _Meeting] = {}
        self._unfinished = list(order)
        self._meetings: dict[tuple[tuple[Program, ...], int], _Meeting] = {}
        self._counts: dict[tuple[Program, tuple[Program, ...]], int] = {}
        self._failure: BaseException | None = None

    def run(self, body: Callable[[Program], None]) -> None:
        """Call ``body`` for each program; the first exception ends all of them."""
        if len(self.order) == 1:
            body(self.order[0])
            return
        threads = [threading.Thread(target=self._live, args=(body, p), daemon=True) for p in self.order]
        self._running = self.order[0]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self._failure is not None:
            raise self._failure

    @process.one_blas_thread()
    def _live(self, body: Callable[[Program], None], program: Program) -> None:
        try:
            self._await_turn(program)
            body(program)
        except _Abandoned:
            pass
        except BaseException as error:
            self._failure = self._failure or error
        with self._turn:
            self._unfinished.remove(program)
            self._hand_over()

    def _await_turn(self, program: Program) -> None:
        with self._turn:
            self._turn.wait_for(lambda: self._running == program or self._failure is not None)
            if self._failure is not None:
                raise _Abandoned

    def _hand_over(self) -> None:
        """Choose who runs next: the first program that is neither finished nor waiting for values."""
        able = (p for p in self._unfinished if p not in self._waiting or self._waiting[p].complete)
        self._running = next(able, None)
        if self._running is None and self._unfinished and self._failure is None:
            stuck = next(iter(self._unfinished))
            absent = [p for p in self._waiting[stuck].group if p not in self._waiting[stuck].values]
            self._failure = KernelError("", f"program {stuck} waits in nl.all_reduce for program {absent[0]} forever")
        self._turn.notify_all()

    def exchanged(self, program: Program, group: tuple[Program, ...], value: Any) -> list[Array]:
        """Bring ``value`` to the next meeting of ``group``; the values of all its members, in its order."""
        number = self._counts.get((program, group), 0)
        self._counts[program, group] = number + 1
        meeting = self._meetings.setdefault((group, number), _Meeting(group))
        meeting.values[program] = value
        if not meeting.complete:
            with self._turn:
                self._waiting[program] = meeting
                self._hand_over()
            self._await_turn(program)
            del self._waiting[program]
        return [meeting.values[member] for member in group]
