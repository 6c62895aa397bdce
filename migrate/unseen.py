"""What *equal* did not see: sides of conditions, of either version, that no case of a kernel took."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from nki_migrate.runtime.compare import Verdict
from nki_migrate.runtime.compare.condition import Condition, Sides, together

from .verdicts import CaseResult, Problem

_SHOWN = 5


@dataclass(frozen=True)
class Unseen:
    """The conditions of one kernel, of both versions, that went one way only in all its cases."""

    before: str
    after: str
    kernel: str
    conditions: tuple[Condition, ...]

    @property
    def text(self) -> str:
        """One sentence."""
        shown = "; ".join(_text(condition) for condition in self.conditions[:_SHOWN])
        more = len(self.conditions) - _SHOWN
        return f"no case shows the other side of {shown}" + (f"; and {more} more" if more > 0 else "")

    @property
    def note(self) -> str:
        return f"{self.before}: {self.kernel}: {self.text}"

    @property
    def undecided(self) -> CaseResult:
        """What ``--strict`` makes of it."""
        first = self.conditions[0]
        advice = "add cases that show them (verify --search looks for some), or leave --strict out"
        problem = Problem("case", Verdict.UNDECIDED, self.text, first.file, first.line, advice)
        return CaseResult(self.before, self.after, self.kernel, problems=(problem,))


def _text(condition: Condition) -> str:
    path = os.path.relpath(condition.file)
    place = condition.file if path.startswith(os.pardir) else path
    return f"{place}:{condition.line} `{condition.text}`, {_way(condition)}"


def _way(condition: Condition) -> str:
    """Which way a condition went each time: loops, and ``min`` and ``max`` of two numbers, are some, too."""
    if condition.text.startswith("for "):
        return "never run"
    if condition.text.startswith(("min(", "max(")):
        return f"always the {'first' if condition.true else 'second'}"
    return f"always {'true' if condition.true else 'false'}"


def unseen(results: Sequence[CaseResult], searched: Mapping[tuple[str, str], Sides]) -> Iterator[Unseen]:
    """For each kernel that is equal in some case, the conditions that no case showed both sides of.

    ``searched`` are those that the cases of a search asked, by file and kernel.
    """
    kernels: dict[tuple[str, str], list[CaseResult]] = {}
    for result in results:
        kernels.setdefault((result.before, result.kernel), []).append(result)
    for (before, kernel), own in kernels.items():
        if any(result.verdict is Verdict.EQUAL for result in own):
            further = searched.get((before, kernel), ((), ()))
            asked = together([*(result.conditions for result in own), further])
            found = tuple(c for side in asked for c in side if c.true != c.false)
            if found:
                yield Unseen(before, own[0].after, kernel, found)
