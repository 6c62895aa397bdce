"""Accumulation groups of TensorE in PSUM: a bank holds one at a time.

A group is a matmul that overwrites its destination and those that add to the same elements. "With 8 PSUM banks per
partition, TensorE can have up to eight outstanding matmul accumulation groups" (Trainium architecture guide); the
compiler's name for a violation is ``[SCH713] Violation of accumulation group interleaving`` (direct allocation guide).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from ..compare.hazard import Hazard
from ..compare.trace import Program
from ..compare.verdict import Place
from ..events import Event, Operand
from ..spec.hardware import PSUM_BANK_BYTES
from .accesses import owners, place, size, written
from .model import executed_at, label, touched

_MATMULS = ("nc_matmul", "nc_matmul_mx", "nc_transpose")


@dataclass
class _Group:
    """One accumulation group: its elements, and the numbers of its matmuls in the program."""

    operand: Operand
    members: list[int] = field(default_factory=list)


def interleaved_groups(program: Program) -> list[Hazard]:
    """Groups of one bank of which one begins before the other has ended."""
    banks: dict[int, list[_Group]] = defaultdict(list)
    latest: dict[tuple[object, ...], _Group] = {}
    for index, event in enumerate(program.events):
        if event.op not in _MATMULS:
            continue
        for operand in written(event):
            if operand.space != "psum" or not operand.pinned:
                continue
            if not dict(event.attributes).get("accumulate") or place(operand) not in latest:
                latest[place(operand)] = _Group(operand)
                banks[operand.byte // PSUM_BANK_BYTES].append(latest[place(operand)])
            latest[place(operand)].members.append(index)
    return [hazard for groups in banks.values() for hazard in _interleaved(program, groups)]


def _interleaved(program: Program, groups: list[_Group]) -> list[Hazard]:
    tiles = owners(program)
    found = []
    running: list[_Group] = []
    for group in groups:
        start = group.members[0]
        running = [open_ for open_ in running if open_.members[-1] > start]
        for open_ in running:
            if not _share_partitions(open_.operand, group.operand):
                continue
            resumed = next(index for index in open_.members if index > start)
            names = label(tiles[open_.operand.tile]), label(tiles[group.operand.tile])
            bank = group.operand.byte // PSUM_BANK_BYTES
            found.append(
                Hazard(
                    "interleaved_groups",
                    f"accumulation groups are interleaved in PSUM bank {bank}: a group of '{names[1]}' begins before "
                    f"the one of '{names[0]}' has ended",
                    names,
                    _matmul(program.events[start], group.operand, f"begins a group of '{names[1]}'"),
                    _matmul(program.events[resumed], open_.operand, f"adds to the group of '{names[0]}'"),
                    "give the two tiles different banks, or finish one accumulation before the other begins",
                )
            )
        running.append(group)
    return found


def _matmul(event: Event, operand: Operand, what: str) -> Place:
    return executed_at(event, f"{what} at {touched(operand, size(operand))}")


def _share_partitions(a: Operand, b: Operand) -> bool:
    return a.partition < b.partition + partitions(b) and b.partition < a.partition + partitions(a)


def partitions(operand: Operand) -> int:
    """Partitions between the first and the last element of an access."""
    return 1 + sum(step * (count - 1) for step, _, count in operand.steps)
