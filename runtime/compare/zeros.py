"""Zeros that a matmul overwrites: Beta 1 wrote them to have something to add to, Beta 2 does not need them.

Source: NKI 0.3 update guide on ``accumulate=None``: the first matmul into a fresh PSUM tile overwrites it.
"""

from __future__ import annotations

from ..events import Event
from .trace import Program


def without_zeros(old: Program, new: Program) -> tuple[Program, Program, int]:
    """Both programs, and how many zeros (``memset``) more the old one has.

    Where that is not 0, those zeros of PSUM tiles are left out of both that nothing reads: the next instruction to
    touch the tile is a matmul that overwrites it at the same place, or there is none.
    """
    zeros = _unread(old), _unread(new)
    more = len(zeros[0]) - len(zeros[1])
    if not more:
        return old, new, 0
    return old.without(zeros[0]), new.without(zeros[1]), more


def _unread(program: Program) -> set[int]:
    """The sequence numbers of zeros in PSUM tiles that a matmul overwrites before anything else touches the tile."""
    found: set[int] = set()
    waiting: dict[int, Event] = {}
    for event in program.events:
        for operand in event.operands:
            zeros = waiting.pop(operand.tile, None)
            same = zeros is not None and operand == zeros.operands[0] and operand.exact and operand.used
            if zeros is not None and same and event.op == "nc_matmul":
                found.add(zeros.sequence)
        if event.op == "memset" and event.operands[0].space == "psum" and dict(event.attributes)["value"] == 0:
            waiting[event.operands[0].tile] = event
    return found | {event.sequence for event in waiting.values()}
