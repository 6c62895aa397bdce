"""Copies of what Beta 1 took as it was: ``nl.broadcast_to`` to the shape that its operand has is the operand.

``nl.where`` into the type that its first choice has takes that as it is. The shape, or the type, is a run's, not the
source's: the new kernel has an instruction for every one, and copies there. The copy stands for its source. One row for
one partition is a view in Beta 1, and a copy by ``nc_stream_shuffle`` after. Source: rule NKI022 (``nl.broadcast_to``,
``nl.where``).
"""

from __future__ import annotations

from dataclasses import replace

from ..events import Event, Operand
from .correspondence import Correspondence, covers
from .trace import Program

Copy = tuple[Operand, Operand]
"""The destination and the source of a copy."""
COPIES = frozenset({"tensor_copy", "nc_stream_shuffle"})
"""Instructions that copy what was given back."""


class Passed:
    """The operands that functions of the old kernel gave back, which the new one may copy, each once."""

    def __init__(self, old: Program) -> None:
        self._waiting = list(old.passed)

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def copied(self, event: Event, relation: Correspondence) -> Copy | None:
        """What ``event`` copies, if it is all of such an operand into a tile that nothing has touched."""
        copy = _whole_copy(event, relation)
        if copy is None:
            return None
        for given in self._waiting:
            if relation.copy().mismatch(given.operands[0], replace(copy[1], role="src"), event) is None:
                self._waiting.remove(given)
                return copy
        return None


def _whole_copy(event: Event, relation: Correspondence) -> Copy | None:
    roles = {operand.role: operand for operand in event.operands}
    if event.op not in COPIES or set(roles) != {"dst", "src"}:
        return None
    dst, src = roles["dst"], roles["src"]
    if dst.pinned or dst.tile in relation.touched or not covers(dst, relation.new_tiles[dst.tile]):
        return None
    if event.op == "nc_stream_shuffle":
        is_copy = relation.new_tiles[dst.tile].partitions == 1 and _takes_first_row(event)
    else:
        is_copy = not event.attributes and dst.steps == src.steps
    return (dst, src) if is_copy and dst.dtype == src.dtype else None


def _takes_first_row(event: Event) -> bool:
    return all(key == "shuffle_mask" and not any(value) for key, value in event.attributes)


def read_through(operand: Operand, copy: Copy) -> Operand | None:
    """``operand``, a part of a copy, as the same part of the source; ``None`` where it is none."""
    dst, src = copy
    if (operand.partition, operand.byte, operand.steps, operand.dtype) == (
        dst.partition,
        dst.byte,
        dst.steps,
        dst.dtype,
    ):
        return replace(src, role=operand.role)
    if src.steps != dst.steps or operand.dtype != dst.dtype:
        return None
    partition, byte = src.partition + operand.partition - dst.partition, src.byte + operand.byte - dst.byte
    return replace(operand, space=src.space, tile=src.tile, pinned=src.pinned, partition=partition, byte=byte)
