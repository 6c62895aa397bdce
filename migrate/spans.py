"""When the values of pinned tiles live: what the report draws of a run beside its addresses."""

from __future__ import annotations

from dataclasses import dataclass

from nki_migrate.runtime.compare import Run
from nki_migrate.runtime.hazards import lives

MOST = 600
"""The spans that are kept of a run: those of the most bytes for the longest time."""


@dataclass(frozen=True)
class Span:
    """A value of a tile with an address: bytes of its memory, from its first instruction to its last."""

    tensor: str
    space: str
    byte: int
    nbytes: int
    first: int
    last: int


def spans_of(run: Run) -> tuple[Span, ...]:
    """The values of the first program of ``run`` that are read, by their first instruction."""
    found = [
        Span(life.tile.tensor, life.tile.space, life.tile.byte, max(life.tile.nbytes, 1), life.first, life.last)
        for life in lives(run.programs[0], pinned=True)
        if life.was_read
    ]
    longest = sorted(found, key=lambda span: -span.nbytes * (span.last + 1 - span.first))[:MOST]
    return tuple(sorted(longest, key=lambda span: (span.first, span.byte)))
