"""Constants that the Beta 1 compiler made, and that the new kernel makes itself: ones, of which it selects some.

``nl.shared_constant`` is data in HBM before the kernel runs. Beta 2 has none: a support function of rule NKI026 fills
a tile with ones, selects those that the constant has, and copies them to HBM. These instructions are left out, and the
tensor is the constant of what it holds. Source: rule NKI026.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from ..events import Event
from ..spec.comparison import WRITTEN_ROLES
from .trace import Program

_MADE = ("memset", "affine_select", "dma_copy")


def without_constants(old: Program, new: Program) -> tuple[Program, int]:
    """The new program without the instructions that make a constant of ones and zeros, and how many these are.

    The two tiles are touched by nothing else, and have no address. Where the old one makes such, none is left out.
    """
    made = _made(new)
    if not made or _made(old):
        return new, 0
    tensors = {_destination(event) for event in new.events if event.sequence in made and event.op == _MADE[-1]}
    others = (operand for event in new.events if event.sequence not in made for operand in event.operands)
    is_written = any(operand.role in WRITTEN_ROLES and operand.tile in tensors for operand in others)
    if is_written or any(t.output is not None for t in new.tensors if t.uid in tensors):
        return new, 0
    constants = tuple(replace(t, role="constant", kind="") if t.uid in tensors else t for t in new.tensors)
    return replace(new.without(made), tensors=constants), len(made)


def _made(program: Program) -> set[int]:
    events = program.events
    uses = Counter(operand.tile for event in events for operand in event.operands)
    found: set[int] = set()
    for at in range(len(events) - 2):
        three = events[at : at + 3]
        if tuple(event.op for event in three) == _MADE and _makes_constant(three[0], three[1], three[2], uses):
            found.update(event.sequence for event in three)
    return found


def _makes_constant(fill: Event, select: Event, copy: Event, uses: Counter[int]) -> bool:
    """Is a tile filled with ones, selected from into a second one, and that copied to HBM?"""
    ones, chosen, constant = (_destination(event) for event in (fill, select, copy))
    value = dict(fill.attributes).get("value")
    return (
        value == 1
        and _sources(select) == {ones}
        and _sources(copy) == {chosen}
        and (uses[ones], uses[chosen]) == (2, 2)
        and not any(operand.pinned for event in (fill, select) for operand in event.operands)
        and all(operand.space == "hbm" for operand in copy.operands if operand.tile == constant)
    )


def _destination(event: Event) -> int:
    return next(operand.tile for operand in event.operands if operand.role == "dst")


def _sources(event: Event) -> set[int]:
    return {operand.tile for operand in event.operands if operand.role != "dst"}
