"""The event stream: each executed instruction with its operands as physical places.

An operand's access is kept in a normal form, so that two spellings of one access compare equal: dimensions of extent 1
are dropped, and adjacent dimensions that walk memory as one are merged.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cache, lru_cache
from operator import attrgetter
from typing import Any

import numpy as np

from .errors import user_location
from .memory import Allocation, Array, View, address_of
from .packed import type_name

Said = tuple[str, str, Any]
"""A function, a keyword of it, and the value that a kernel gave."""
Step = tuple[int, int, int]
"""(partitions, bytes, count): one dimension of an access. For HBM: (0, elements, count)."""
NOTHING: tuple[Step, ...] = ((0, 0, 0),)
"""The steps of an access of no elements."""


@dataclass(frozen=True)
class Operand:
    """One operand of one instruction.

    ``tile`` is the ``uid`` of the allocation, ``partition`` and ``byte`` the first element's place: physical where
    the tile is pinned, relative to the tile where it is not; for HBM ``byte`` is an offset in *elements* and
    ``partition`` 0. ``exact`` is false where the access may touch only some of these elements, or where which ones is
    known only on chip: what an indirect access indexes, the destination under a mask that no box describes. ``used`` is
    false where none of them takes part: an operand mask leaves nothing.
    """

    role: str
    space: str
    tile: int
    pinned: bool
    partition: int
    byte: int
    steps: tuple[Step, ...]
    dtype: str
    exact: bool = field(default=True, compare=False)
    used: bool = field(default=True, compare=False)


@dataclass(frozen=True)
class Event:
    """One instruction: canonical name, operands (destination first), immediate attributes, and the kernel's line.

    ``restarts`` tells a matmul that the kernel asked to open a new accumulation group from the first one of a ``+=``.
    ``exempt`` are the function, the keyword and the value of what the kernel said that changes nothing: what
    :mod:`~.spec.comparison` lists, and the comparison leaves out.
    """

    sequence: int
    op: str
    operands: tuple[Operand, ...]
    attributes: tuple[tuple[str, Any], ...]
    file: str
    line: int
    restarts: bool = field(default=False, compare=False)
    exempt: tuple[Said, ...] = field(default=(), compare=False)


def operand_of(
    role: str,
    space: str,
    tile: int,
    pinned: bool,
    partition: int,
    byte: int,
    steps: tuple[Step, ...],
    dtype: str,
    exact: bool = True,
    used: bool = True,
) -> Operand:
    """An :class:`Operand`, in less than half of the time: its own ``__init__`` has ``object`` set each field."""
    made = Operand.__new__(Operand)
    fields_of = vars(made)
    fields_of["role"] = role
    fields_of["space"] = space
    fields_of["tile"] = tile
    fields_of["pinned"] = pinned
    fields_of["partition"] = partition
    fields_of["byte"] = byte
    fields_of["steps"] = steps
    fields_of["dtype"] = dtype
    fields_of["exact"] = exact
    fields_of["used"] = used
    return made


def event_of(
    sequence: int,
    op: str,
    operands: tuple[Operand, ...],
    attributes: tuple[tuple[str, Any], ...],
    file: str,
    line: int,
    restarts: bool = False,
    exempt: tuple[Said, ...] = (),
) -> Event:
    """An :class:`Event`, made as :func:`operand_of` makes an operand."""
    made = Event.__new__(Event)
    fields_of = vars(made)
    fields_of["sequence"] = sequence
    fields_of["op"] = op
    fields_of["operands"] = operands
    fields_of["attributes"] = attributes
    fields_of["file"] = file
    fields_of["line"] = line
    fields_of["restarts"] = restarts
    fields_of["exempt"] = exempt
    return made


def with_said(event: Event, exempt: tuple[Said, ...]) -> Event:
    """``event`` with what its kernel said beside what is compared."""
    return event_of(
        event.sequence, event.op, event.operands, event.attributes, event.file, event.line, event.restarts, exempt
    )


@dataclass(frozen=True)
class Loop:
    """One run of a loop whose iterations are declared to be independent (``affine_range`` of Beta 1).

    Iteration ``k`` executed the events with ``marks[k] < sequence <= marks[k + 1]``.
    """

    file: str
    line: int
    marks: tuple[int, ...]


class Recorder:
    """Collects events. A Beta 1 result is recorded when its destination is known, in the order of the calls.

    ``untracked`` are the allocations that something other than an instruction wrote (``register_store``). ``options``
    are those of the instruction of Beta 2 that runs now (:mod:`.options`).
    """

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._loops: list[tuple[tuple[str, int], list[int]]] = []
        self._next = 0
        self.untracked: set[int] = set()
        self._passed: list[Event] = []
        self.options: tuple[tuple[str, Any], ...] = ()
        self._said: dict[int, tuple[Said, ...]] = {}

    @property
    def begun(self) -> int:
        """The sequence number of the last instruction that has begun, 0 before the first."""
        return self._next

    def loop(self) -> list[int]:
        """The marks of a loop that begins here; :meth:`mark` adds one before each iteration and one at the end."""
        marks: list[int] = []
        self._loops.append((user_location(), marks))
        return marks

    def mark(self, marks: list[int]) -> None:
        marks.append(self._next)

    def reserve(self) -> int:
        """Sequence number for an instruction that executes now and whose destination comes later."""
        self._next += 1
        return self._next

    def add(
        self,
        op: str,
        operands: list[tuple[str, View]],
        attributes: tuple[tuple[str, Any], ...],
        sequence: int | None = None,
        location: tuple[str, int] | None = None,
        partly: tuple[str, ...] = (),
        restarts: bool = False,
    ) -> None:
        """Record one instruction. ``partly`` are the roles whose operand is touched only in part."""
        file, line = location or user_location()
        places = tuple(
            [
                operand(role, view.alloc, place := view.place, place is view.array and role not in partly, view.used)
                for role, view in operands
            ]
        )
        if self.options:
            attributes = (*attributes, *self.options)
        self._events.append(event_of(sequence or self.reserve(), op, places, attributes, file, line, restarts))

    def says(self, since: int, said: tuple[Said, ...]) -> None:
        """Keep what the kernel said, beside what is compared, to the instructions that began after ``since``."""
        for sequence in range(since + 1, self._next + 1):
            self._said[sequence] = (*self._said.get(sequence, ()), *said)

    def passes(self, op: str, view: View, sequence: int | None) -> None:
        """Note that a function of the language gave its operand back, and ran no instruction."""
        file, line = user_location()
        place = operand("src", view.alloc, view.place, True, view.used)
        self._passed.append(Event(sequence or self.reserve(), op, (place,), (), file, line))

    def passed(self) -> tuple[Event, ...]:
        """What :meth:`passes` noted, as events without a destination."""
        return tuple(self._passed)

    def events(self) -> list[Event]:
        told = [with_said(e, self._said[e.sequence]) if e.sequence in self._said else e for e in self._events]
        return sorted(told, key=lambda event: event.sequence)

    def loops(self) -> tuple[Loop, ...]:
        """The loops that were run, in the order of their beginnings."""
        return tuple(Loop(*location, tuple(marks)) for location, marks in self._loops)


def operand(role: str, alloc: Allocation, array: Array, exact: bool = True, used: bool = True) -> Operand:
    """Physical place and normal form of an access: ``array`` is a view on the memory of ``alloc``.

    One of no elements is said to begin where its tensor does: Beta 1 and Beta 2 may name different places of nothing.
    """
    offset = 0 if not array.size or _is_all_of(array, alloc.whole) else address_of(array) - alloc.start
    if alloc.space == "hbm":
        size = alloc.dtype.itemsize
        steps = _elements(array.strides, array.shape, size)
        return operand_of(role, "hbm", alloc.uid, False, 0, offset // size, steps, _stored(alloc.dtype), exact, used)
    pitch = alloc.pitch
    row, byte = divmod(offset, pitch)
    steps = _bytes(array.strides, array.shape, pitch)
    pinned = alloc.byte is not None
    return operand_of(role, alloc.space, alloc.uid, pinned, row, byte, steps, _stored(array.dtype), exact, used)


_FIELDS = attrgetter(*(each.name for each in fields(Operand)))
_OWN = attrgetter("sequence", "op", "attributes", "file", "line", "restarts", "exempt")


def flat(events: tuple[Event, ...]) -> list[tuple[Any, ...]]:
    """``events`` as tuples, which cross between processes in a fourth of the time that objects take."""
    return [(*_OWN(event), *map(_FIELDS, event.operands)) for event in events]


def from_flat(rows: list[tuple[Any, ...]]) -> tuple[Event, ...]:
    """The events that :func:`flat` made these tuples of."""
    found = []
    for sequence, op, attributes, file, line, restarts, exempt, *operands in rows:
        places = tuple([operand_of(*place) for place in operands])
        found.append(event_of(sequence, op, places, attributes, file, line, restarts, exempt))
    return tuple(found)


def _is_all_of(array: Array, whole: Array | None) -> bool:
    """Is ``array`` all of a tile, element by element? (To ask for its address costs more.)"""
    if array is whole or whole is None:
        return whole is not None
    if array.base is not whole or array.strides != whole.strides:
        return False
    return array.shape == whole.shape and array.itemsize == whole.itemsize


@lru_cache(4096)
def _elements(strides: tuple[int, ...], shape: tuple[int, ...], size: int) -> tuple[Step, ...]:
    """The steps of an access to HBM, in elements of ``size`` bytes."""
    return merged_steps([(0, stride // size, count) for stride, count in zip(strides, shape, strict=True)])


@lru_cache(4096)
def _bytes(strides: tuple[int, ...], shape: tuple[int, ...], pitch: int) -> tuple[Step, ...]:
    """The steps of an access on chip, to a memory with ``pitch`` bytes a partition."""
    return merged_steps(
        [(stride // pitch, stride % pitch, count) for stride, count in zip(strides, shape, strict=True)]
    )


@cache
def _stored(dtype: np.dtype[Any]) -> str:
    """The type of the bytes: a truth value is a uint8 on chip, which Beta 2 has no other name for."""
    return "uint8" if dtype.kind == "b" else type_name(dtype)


def merged_steps(steps: list[Step]) -> tuple[Step, ...]:
    """The normal form of an access: without dimensions of one element, those that walk memory as one merged.

    An access of no elements walks nothing, whatever its steps are.
    """
    if any(count == 0 for _, _, count in steps):
        return NOTHING
    merged: list[Step] = []
    for partitions, size, count in steps:
        if count == 1:
            continue
        if merged:
            outer_partitions, outer_size, outer_count = merged[-1]
            if (outer_partitions, outer_size) == (partitions * count, size * count):
                merged[-1] = (partitions, size, outer_count * count)
                continue
        merged.append((partitions, size, count))
    return tuple(merged)
