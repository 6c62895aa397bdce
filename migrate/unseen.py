"""What *equal* did not see: sides of conditions, of either version, that no case of a kernel took."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from nki_migrate.runtime.compare import Verdict
from nki_migrate.runtime.compare.condition import Condition

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
    return f"{place}:{condition.line} `{condition.text}`, always {'true' if condition.true else 'false'}"


def unseen(results: Sequence[CaseResult]) -> Iterator[Unseen]:
    """For each kernel that is equal in some case, the conditions that no case showed both sides of."""
    kernels: dict[tuple[str, str], list[CaseResult]] = {}
    for result in results:
        kernels.setdefault((result.before, result.kernel), []).append(result)
    for (before, kernel), own in kernels.items():
        if any(result.verdict is Verdict.EQUAL for result in own):
            found = tuple(c for c in _together(own) if c.true != c.false)
            if found:
                yield Unseen(before, own[0].after, kernel, found)


def _together(results: Sequence[CaseResult]) -> list[Condition]:
    """What all cases asked, each condition once."""
    found: dict[tuple[int, str, int, str], Condition] = {}
    for result in results:
        for side, conditions in enumerate(result.conditions):
            for c in conditions:
                known = found.setdefault((side, c.file, c.line, c.text), c)
                merged = replace(known, true=known.true or c.true, false=known.false or c.false)
                found[side, c.file, c.line, c.text] = merged
    return list(found.values())
