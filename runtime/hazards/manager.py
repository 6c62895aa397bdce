"""What the library's allocator did with memory that the kernel did not ask for (:mod:`...nkilib.flaws`)."""

from __future__ import annotations

from ..compare.hazard import Hazard
from ..compare.trace import Program
from .model import declared_at

_HELP = {
    "room": "leave as many bytes between stack and heap as the largest alignment, or align all sizes",
    "section": "open the scope outside of the section, or keep a tensor of the section as large as the closed scope",
    "leak": "make the bytes of a partition a multiple of four, and of the alignment, for tensors on the heap",
}


def manager_flaws(program: Program) -> list[Hazard]:
    """One hazard for each flaw, with the two tensors: the one that was there, and the one that came."""
    tiles = {tile.uid: tile for tile in program.tiles}
    return [
        Hazard(
            "allocator",
            message,
            (tiles[first].label, tiles[second].label),
            declared_at(tiles[first]),
            declared_at(tiles[second]),
            _HELP[kind],
        )
        for kind, first, second, message in program.flaws
    ]
