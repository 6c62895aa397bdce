"""What a reduction over a loop starts with: Beta 1 takes its first operand, Beta 2 combines it with a number.

``-0.0 + x`` is ``x``, bit for bit, and so are ``max(-inf, x)`` and ``min(inf, x)``. Source: rule NKI022
(``nl.loop_reduce`` into a tensor that is only declared).
"""

from __future__ import annotations

from math import copysign, isinf

from ..events import Event
from .trace import Program


def without_starts(old: Program, new: Program) -> tuple[Program, int]:
    """The new program without the ``memset`` of -0.0 or an infinity into tiles that nothing has touched.

    With it comes how many these are. Where the old one has such instructions, too, none is left out.
    """
    starts = _starts(new)
    if not starts or _starts(old):
        return new, 0
    return new.without(starts), len(starts)


def _starts(program: Program) -> set[int]:
    touched: set[int] = set()
    found: set[int] = set()
    for event in program.events:
        if event.op == "memset" and event.operands[0].tile not in touched and _is_start(event):
            found.add(event.sequence)
        else:
            touched.update(operand.tile for operand in event.operands)
    return found


def _is_start(event: Event) -> bool:
    value = dict(event.attributes)["value"]
    return isinstance(value, float) and (isinf(value) or (value == 0 and copysign(1.0, value) < 0))
