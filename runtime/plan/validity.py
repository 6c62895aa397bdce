"""Whether the addresses of a plan can be right: bounds, capacity, alignment, and who has whose bytes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .model import Alloc, Plan

CODES = ("over-capacity", "out-of-range", "misaligned", "overlap")


@dataclass(frozen=True)
class Flaw:
    """What is wrong with a plan: a code of :data:`CODES`, the allocations that it is about, and a sentence."""

    code: str
    allocs: tuple[Alloc, ...]
    message: str


def flaws(plan: Plan) -> tuple[Flaw, ...]:
    """All that is wrong with ``plan``, in the order of :data:`CODES`; empty for a plan that can be right.

    A scope of which no allocation has an address is over capacity when what lives at one time is too much for it.
    """
    found = [*_over_capacity(plan), *_out_of_range(plan), *_misaligned(plan), *_overlapping(plan)]
    return tuple(found)


def overlaps(plan: Plan) -> tuple[tuple[Alloc, Alloc], ...]:
    """The pairs that have a byte and a step in common, each in declaration order."""
    found: list[tuple[int, int]] = []
    for scope in plan.scopes:
        numbered = [(i, a) for i, a in enumerate(plan.allocs) if a.scope == scope and a.addr is not None and a.bytes]
        numbered.sort(key=lambda pair: (pair[1].addr or 0, pair[0]))
        open_ones: list[tuple[int, Alloc]] = []
        for number, alloc in numbered:
            open_ones = [(i, other) for i, other in open_ones if (other.end or 0) > (alloc.addr or 0)]
            found += [(min(i, number), max(i, number)) for i, other in open_ones if alloc.lives_with(other)]
            open_ones.append((number, alloc))
    return tuple((plan.allocs[a], plan.allocs[b]) for a, b in sorted(found))


def most_at_once(allocs: list[Alloc]) -> tuple[int, tuple[Alloc, ...]]:
    """The largest sum of the sizes of what lives at one step, and what lives there (in the order given)."""
    best, at = 0, None
    for step in sorted({alloc.live[0] for alloc in allocs}):
        size = sum(a.bytes for a in allocs if a.live[0] <= step < a.live[1])
        if size > best:
            best, at = size, step
    return best, tuple(a for a in allocs if at is not None and a.live[0] <= at < a.live[1])


def _over_capacity(plan: Plan) -> Iterator[Flaw]:
    for scope in plan.scopes:
        space, allocs = plan.space(scope), list(plan.of(scope))
        if space.limit is None or not allocs:
            continue
        placed = [alloc for alloc in allocs if alloc.end is not None]
        top = max((alloc.end or 0 for alloc in placed), default=0)
        if top > space.limit:
            above = tuple(alloc for alloc in placed if (alloc.end or 0) > space.limit)
            names = ", ".join(f"'{alloc.name}'" for alloc in above)
            yield Flaw(
                "over-capacity",
                above,
                f"{scope} needs {top} {space.unit} and has {space.limit}: {names} ends above",
            )
        elif not placed:
            size, alive = most_at_once(allocs)
            if size > space.limit:
                names = ", ".join(f"'{alloc.name}'" for alloc in alive)
                yield Flaw(
                    "over-capacity",
                    alive,
                    f"{scope} has {space.limit} {space.unit}, and {size} live at one time: {names}",
                )


def _out_of_range(plan: Plan) -> Iterator[Flaw]:
    for alloc in plan.allocs:
        if alloc.addr is not None and alloc.addr < 0:
            yield Flaw("out-of-range", (alloc,), f"'{alloc.name}' begins at {alloc.addr} of {alloc.scope}")


def _misaligned(plan: Plan) -> Iterator[Flaw]:
    for alloc in plan.allocs:
        if alloc.addr is not None and alloc.addr % alloc.align:
            message = f"'{alloc.name}' begins at {alloc.addr} of {alloc.scope}, which is no multiple of {alloc.align}"
            yield Flaw("misaligned", (alloc,), message)


def _overlapping(plan: Plan) -> Iterator[Flaw]:
    for first, second in overlaps(plan):
        low = max(first.addr or 0, second.addr or 0)
        high = min(first.end or 0, second.end or 0)
        steps = max(first.live[0], second.live[0]), min(first.live[1], second.live[1])
        message = (
            f"'{first.name}' and '{second.name}' have {plan.space(first.scope).unit} {low}-{high - 1} of {first.scope} "
            f"at one time, from step {steps[0]} on"
        )
        yield Flaw("overlap", (first, second), message)
