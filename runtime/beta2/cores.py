"""The programs of one launch: logical cores that share HBM and meet at barriers.

Each program runs in a thread of its own, but only one at a time: it runs until it meets the others or ends, then the
next one continues. So a launch is deterministic.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .. import process
from ..errors import KernelError


class _Abandoned(BaseException):
    """Unwinds a program whose sibling failed."""


@dataclass(eq=False)
class Cores:
    """``count`` programs. ``meet`` is called by a running program, ``run`` by the launch."""

    count: int
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _turn: int = 0
    _ended: set[int] = field(default_factory=set)
    _arrived: dict[int, tuple[object, Any]] = field(default_factory=dict)
    _met: dict[int, list[Any]] = field(default_factory=dict)
    _failure: BaseException | None = None

    def run(self, program: Callable[[int], Any]) -> list[Any]:
        """``program(i)`` for each core, in turns; the results in order. An exception of any of them is raised here."""
        if self.count == 1:
            return [program(0)]
        results: list[Any] = [None] * self.count
        threads = [threading.Thread(target=self._thread, args=(i, program, results)) for i in range(self.count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self._failure is not None:
            raise self._failure
        return results

    @process.one_blas_thread()
    def _thread(self, index: int, program: Callable[[int], Any], results: list[Any]) -> None:
        try:
            self._wait_for_turn(index)
            results[index] = program(index)
        except _Abandoned:
            return
        except BaseException as error:
            with self._changed:
                self._failure = self._failure or error
        finally:
            with self._changed:
                self._ended.add(index)
                self._hand_over()

    def meet(self, index: int, key: object, value: Any) -> list[Any]:
        """Wait until every program is here with an equal ``key``; the values of all, by program."""
        with self._changed:
            self._arrived[index] = (key, value)
            if len(self._arrived) == self.count:
                keys = {repr(k) for k, _ in self._arrived.values()}
                if len(keys) != 1:
                    raise KernelError(
                        "", f"the programs of the launch wait for each other at {' and '.join(sorted(keys))}"
                    )
                values = [self._arrived[i][1] for i in range(self.count)]
                self._arrived.clear()
                self._met = {i: values for i in range(self.count) if i != index}
                return values
            if self._ended:
                raise _alone(key)
            self._hand_over()
        self._wait_for_turn(index)
        if index not in self._met:
            raise _alone(key)
        return self._met.pop(index)

    def _hand_over(self) -> None:
        """Give the turn to the next program that can run."""
        for step in range(1, self.count + 1):
            candidate = (self._turn + step) % self.count
            if candidate not in self._ended and (candidate not in self._arrived or self._failure is not None):
                self._turn = candidate
                break
        else:
            self._turn = next((i for i in self._arrived if i not in self._ended), self._turn)
        self._changed.notify_all()

    def _wait_for_turn(self, index: int) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._turn == index)
            if self._failure is not None:
                raise _Abandoned


def _alone(key: object) -> KernelError:
    return KernelError("", f"{key}: another program of the launch ended without coming here")
