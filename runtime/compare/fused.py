"""Two ``tensor_scalar`` with a float32 tile between them are one with two operators.

The engine computes in float32, so that the tile in between rounds nothing. Source: rule NKI022, and the instruction's
documentation ("tensor_scalar": ``(data op0 operand0) op1 operand1``).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..events import Event
from ..spec.operators import FUSED
from .trace import Program

_FIRST = ("op0", "operand0", "reverse0")
_SECOND = {"op0": "op1", "operand0": "operand1", "reverse0": "reverse1"}


class Fused:
    """The pairs of instructions of a program that may be one elsewhere."""

    def __init__(self, program: Program) -> None:
        self._program, self._events = program, program.events

    def read_as(self, index: int, new: Event) -> Event | None:
        """The one instruction that those at ``index`` and behind it are, where ``new`` has two operators; else none."""
        if new.op != "tensor_scalar" or "op1" not in dict(new.attributes) or index + 1 >= len(self._events):
            return None
        first, second = self._events[index : index + 2]
        if not _is_single(first) or not _is_single(second):
            return None
        between, data, *operands = first.operands
        written, read, *others = second.operands
        place = [(o.tile, o.space, o.partition, o.byte, o.steps, o.dtype) for o in (between, read)]
        is_own = self._program.touching[between.tile] == 2 and not between.pinned and between.dtype == "float32"
        if place[0] != place[1] or not is_own or between.space != "sbuf":
            return None
        told, then = dict(first.attributes), dict(second.attributes)
        if _others(told) != _others(then):
            return None
        attributes = (*told.items(), *((_SECOND[key], value) for key, value in then.items() if key in _SECOND))
        renamed = [replace(operand, role="operand1") for operand in others]
        return replace(second, operands=(written, data, *operands, *renamed), attributes=attributes)


def _is_single(event: Event) -> bool:
    """Is it a ``tensor_scalar`` with one operator of those that compute alike on their own and together?"""
    told = dict(event.attributes)
    roles = [operand.role for operand in event.operands]
    known = roles in (["dst", "data"], ["dst", "data", "operand0"])
    return event.op == "tensor_scalar" and known and told.get("op0") in FUSED and "op1" not in told


def _others(attributes: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in attributes.items() if key not in _FIRST}
