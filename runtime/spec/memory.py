"""What a memory looks like to everything that shows or checks addresses: a port that each kernel language fills.

Maps, hazards and reports know spaces, extents and rows from here, and no language by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .hardware import DEFAULT_TARGET, PARTITIONS, PSUM_BANK_BYTES, PSUM_PARTITION_BYTES, TARGETS

_QUADRANT = 32


@dataclass(frozen=True)
class Space:
    """One memory that tiles lie in.

    ``extents`` are the bytes that each hardware has (of each row: of one partition), ``rows`` the number of rows that
    have addresses of their own (128 partitions; 1 for a memory that is one range of bytes), ``bank`` the bytes of one
    bank, 0 for a memory without banks.
    """

    name: str
    extents: Mapping[str, int]
    rows: int = 1
    bank: int = 0

    @property
    def title(self) -> str:
        return self.name.upper()

    @property
    def unit(self) -> str:
        """What a number of bytes counts."""
        return "bytes a partition" if self.rows > 1 else "bytes"

    def kept(self, rows: int) -> int:
        """The rows that a tile of ``rows`` keeps others from.

        In a memory of partitions tiles start at quadrants, and those of more than one at halves (direct allocation
        guide, ``ncc.sbuf.alloc()``).
        """
        if self.rows == 1:
            return 1
        return _QUADRANT if rows <= _QUADRANT else 2 * _QUADRANT if rows <= 2 * _QUADRANT else self.rows


@dataclass(frozen=True)
class MemoryModel:
    """The memories of one kernel language, in the order in which maps show them; ``default`` is a hardware's name."""

    name: str
    spaces: tuple[Space, ...]
    default: str

    @property
    def hardware(self) -> tuple[str, ...]:
        """The names of the hardware that the spaces have extents for."""
        return tuple(dict.fromkeys(name for space in self.spaces for name in space.extents))

    def space(self, name: str) -> Space:
        """The space called ``name``. Raises :class:`KeyError` for one that the language does not have."""
        return {space.name: space for space in self.spaces}[name]

    def extent(self, space: str, hardware: str) -> int:
        """The bytes (of one row) that ``space`` has on ``hardware``."""
        return self.space(space).extents[hardware]


MODEL = MemoryModel(
    "nki",
    (
        Space("sbuf", {name: target.sbuf_bytes for name, target in TARGETS.items()}, PARTITIONS),
        Space("psum", dict.fromkeys(TARGETS, PSUM_PARTITION_BYTES), PARTITIONS, PSUM_BANK_BYTES),
    ),
    DEFAULT_TARGET,
)
"""SBUF and PSUM of a NeuronCore (``reference/beta2.md`` section 2.2)."""
