"""What the real compiler misses: kernels that run here, and whose result on hardware nothing guarantees.

All hazards are found in the recorded event stream of a run (:mod:`..compare.trace`), the same way for both front ends;
a run that is not recorded pays nothing for them.
"""

from __future__ import annotations

from dataclasses import replace

from ..compare.hazard import Hazard
from ..compare.trace import Program, Run
from ..spec.hardware import Target
from .capacity import HighWater, high_water, oversubscribed
from .groups import interleaved_groups
from .iterations import dependent_iterations
from .lifetimes import Life, concurrent, lives, spans
from .manager import manager_flaws
from .model import KINDS, merged
from .placement import off_bank, shared_addresses
from .stale import stale_reads

__all__ = [
    "KINDS",
    "Hazard",
    "HighWater",
    "Life",
    "concurrent",
    "find",
    "hazards_of",
    "high_water",
    "lives",
    "spans",
    "uses_unwritten",
]


def find(run: Run, target: Target) -> tuple[Hazard, ...]:
    """The hazards of a run on ``target``, each once, in the order of :data:`KINDS` and of the program."""
    found = [
        replace(hazard, message=f"program {number}: {hazard.message}") if len(run.programs) > 1 else hazard
        for number, program in enumerate(run.programs)
        for hazard in hazards_of(program, target, alone=len(run.programs) == 1)
    ]
    return merged(found)


def uses_unwritten(run: Run) -> bool:
    """Does an output come from bytes that were never written?"""
    alone = len(run.programs) == 1
    found = (hazard for program in run.programs for hazard in stale_reads(program, shared=not alone))
    return any(hazard.kind == "unwritten" for hazard in found)


def hazards_of(program: Program, target: Target, *, alone: bool = True) -> list[Hazard]:
    """The hazards of one program. ``alone``: no other program of the launch writes to its HBM tensors."""
    found = [
        *stale_reads(program, shared=not alone),
        *interleaved_groups(program),
        *dependent_iterations(program),
        *oversubscribed(program, target),
        *off_bank(program),
        *manager_flaws(program),
    ]
    told = {frozenset(hazard.names) for hazard in found if hazard.kind in ("overwritten", "interleaved_groups")}
    found += [hazard for hazard in shared_addresses(program) if frozenset(hazard.names) not in told]
    order = list(KINDS)
    return sorted(found, key=lambda hazard: order.index(hazard.kind))
