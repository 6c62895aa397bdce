"""The truth of a condition, where its type is one that chooses already: ``nl.where`` of a tile of unsigned integers.

The type is a run's, not the source's: the new kernel asks ``condition != 0`` for every type, into a tile of its own,
and a predicated copy reads that. It stands for the condition there. Source: rule NKI022 (``nl.where``).
"""

from __future__ import annotations

from collections import Counter

from ..events import Event
from .correspondence import Correspondence, covers
from .identities import Copy
from .trace import Program

PREDICATE = "predicate"
_ASKED = {"op0": "not_equal", "operand0": 0.0}


class Truths:
    """The tiles of the new kernel that hold the truth of a condition, and nothing else."""

    def __init__(self, program: Program) -> None:
        touching = [(operand.tile, operand.role) for event in program.events for operand in event.operands]
        times = Counter(tile for tile, _ in touching)
        self._choosing = {tile for tile, role in touching if role == PREDICATE and times[tile] == 2}

    def asked(self, event: Event, relation: Correspondence) -> Copy | None:
        """The truth that ``event`` asks for, and of what, if it only chooses."""
        if event.op != "tensor_scalar" or dict(event.attributes) != _ASKED:
            return None
        roles = {operand.role: operand for operand in event.operands}
        dst, data = roles.get("dst"), roles.get("data")
        if dst is None or data is None or len(roles) != 2 or dst.tile not in self._choosing:
            return None
        is_own = not dst.pinned and dst.tile not in relation.touched and covers(dst, relation.new_tiles[dst.tile])
        return (dst, data) if is_own and data.dtype.startswith("uint") else None
