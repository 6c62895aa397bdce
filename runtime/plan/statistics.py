"""How much of its memory a plan takes, and when."""

from __future__ import annotations

from dataclasses import dataclass

from .model import Plan
from .validity import most_at_once


@dataclass(frozen=True)
class Usage:
    """What the plan of one scope takes, in the unit of the scope.

    ``asked`` is the sum of all sizes, ``top`` the end of the highest address (0 when nothing has one), ``peak`` the
    most that lives at one time, which is the least that any plan needs; ``limit`` what the scope holds. ``padding`` is
    what alignment and fragmentation leave unused below the top, counting shared bytes once.
    """

    buffers: int
    asked: int
    top: int
    peak: int
    padding: int
    limit: int | None

    @property
    def reused(self) -> int:
        """What the plan saves by giving bytes to several buffers in turn."""
        return max(self.asked - (self.top - self.padding), 0) if self.top else 0


@dataclass(frozen=True)
class Step:
    """One event of a trace: at ``step``, ``name`` was allocated or freed; ``in_use`` lives in ``scope`` then."""

    step: int
    what: str
    scope: str
    name: str
    bytes: int
    addr: int | None
    in_use: int


def statistics(plan: Plan) -> dict[str, Usage]:
    """The usage of each scope, in the order of the scopes."""
    found: dict[str, Usage] = {}
    for scope in plan.scopes:
        allocs = list(plan.of(scope))
        ranges = sorted((a.addr, a.addr + a.bytes) for a in allocs if a.addr is not None)
        covered, reach = 0, 0
        for low, high in ranges:
            covered += max(high - max(low, reach), 0)
            reach = max(reach, high)
        asked, peak = sum(alloc.bytes for alloc in allocs), most_at_once(allocs)[0]
        found[scope] = Usage(len(allocs), asked, reach, peak, reach - covered, plan.space(scope).limit)
    return found


def trace(plan: Plan) -> tuple[Step, ...]:
    """Each allocation (at the first step it lives) and release (at the step behind the last), releases first.

    What lives as long as the kernel is never released.
    """
    events: list[tuple[int, int, int]] = []
    last = max((a.live[1] for a in plan.allocs if a.live[1] < 1 << 62), default=0)
    for number, alloc in enumerate(plan.allocs):
        if alloc.live[0] == alloc.live[1]:
            continue
        events.append((alloc.live[0], 1, number))
        if alloc.live[1] <= last:
            events.append((alloc.live[1], 0, number))
    in_use = dict.fromkeys(plan.scopes, 0)
    steps = []
    for step, starts, number in sorted(events):
        alloc = plan.allocs[number]
        in_use[alloc.scope] += alloc.bytes if starts else -alloc.bytes
        what = "alloc" if starts else "free"
        steps.append(Step(step, what, alloc.scope, alloc.name, alloc.bytes, alloc.addr, in_use[alloc.scope]))
    return tuple(steps)
