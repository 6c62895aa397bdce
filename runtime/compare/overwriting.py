"""``x = op(x)``: the old kernel computes into another tile, the new one where it reads what is read no more.

One new tile may stand for the one old tile up to an instruction, and for the other from then on, where nothing touches
the first one later, nothing has touched the second one before, both are of one size, and the instruction overwrites all
of it, each element computed from the same element. Source: rule NKI021 (a destination that is an operand).
"""

from __future__ import annotations

from ..events import Event, Operand
from ..spec.comparison import SAME_ELEMENT, WRITTEN_ROLES
from .trace import Program


class LastTouches:
    """After which instruction of a program nothing touches a tile any more."""

    def __init__(self, program: Program) -> None:
        self._last = {operand.tile: event.sequence for event in program.events for operand in event.operands}

    def is_last(self, tile: int, event: Event) -> bool:
        """Does no instruction behind ``event`` touch the tile?"""
        return self._last.get(tile, 0) <= event.sequence


def computes_in_place(event: Event, dst: Operand) -> bool:
    """Does an instruction read the tile that it writes, and only the same element for each that it computes?"""
    roles = SAME_ELEMENT.get(event.op, frozenset())
    others = [operand for operand in event.operands if operand is not dst]
    own = [operand for operand in others if operand.tile == dst.tile]
    place = dst.partition, dst.byte, dst.steps, dst.dtype
    same = all(o.role in roles and (o.partition, o.byte, o.steps, o.dtype) == place for o in own)
    return bool(own) and same and not any(operand.role in WRITTEN_ROLES for operand in others)
