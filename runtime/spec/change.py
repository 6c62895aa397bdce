"""What one row says of a change between two versions of NKI."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .versions import Version

Applicability = Literal["safe", "review", "manual"]


@dataclass(frozen=True)
class Change:
    """What one version changed.

    ``since`` is the first version with the new behaviour, ``before`` and ``after`` are one example. ``kind`` says what
    becomes of source that is left: ``breaks`` (refused, or bound to other parameters), ``differs`` (runs, and means
    something else), ``deprecated`` (runs with a warning), ``same`` (a default or an order, without effect). ``rule``
    is the rule of the ladder that rewrites it, ``None`` with the ``reason``. ``gone`` and ``came`` are names of
    :mod:`.beta2`'s tables (``nki.isa.dma_copy:dst_rmw_op`` is a parameter) which the version before has and this one
    has not, and the other way round; ``moved`` are functions whose positional arguments bind otherwise. ``events`` are
    the instructions that the same call does otherwise (``activation:copy``: with that operator). ``renamed`` are
    parameters and their new names (``("nki.jit:func", "fn")``): tables, rule, checker and emulator take them from here.
    """

    since: Version
    name: str
    what: str
    before: str
    after: str
    source: str
    rule: str | None
    applicability: Applicability
    kind: Literal["breaks", "differs", "deprecated", "same"] = "breaks"
    reason: str = ""
    gone: tuple[str, ...] = ()
    came: tuple[str, ...] = ()
    moved: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()

    @property
    def lost(self) -> tuple[str, ...]:
        """The names that the version has no more, those included that are renamed."""
        return (*self.gone, *(old for old, _ in self.renamed))

    @property
    def gained(self) -> tuple[str, ...]:
        """The names that the version brought, the new ones of what is renamed included."""
        return (*self.came, *(f"{old.partition(':')[0]}:{new}" for old, new in self.renamed))
