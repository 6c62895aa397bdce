"""The memories of one program of a launch: arenas of bytes, buffers at addresses, what was done to them, and when.

A buffer is a view on the bytes of its arena, so that buffers that share addresses share bytes. A program runs on a
machine of its own; global memory (arrays that the launch made) is common to all.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ..compare.trace import HbmTensor, TileRow
from ..errors import KernelError, user_location
from ..events import Event, Operand, Step, merged_steps
from ..numerics import DTYPES
from ..plan import aligned
from ..spec.ascend import TARGETS, AscendTarget
from .plans import Buffer as Planned
from .plans import Program

Array = npt.NDArray[Any]

_NAMES = {"float": "float32", "int": "int32", "half": "float16", "bool": "bool_"}
_FRESH = 0xFF
"""What fresh on-chip memory holds: a NaN in each floating-point type, so that a read of it shows."""


class AscendError(KernelError):
    """The kernel does something that Ascend or the seed's API does not allow."""

    def __init__(self, text: str) -> None:
        super().__init__("", text)


class OutOfMemory(AscendError):
    """``T.MemoryError``: an allocation that does not fit."""


def dtype_of(name: object) -> np.dtype[Any]:
    """The NumPy type of a type's name; ``float`` and ``int`` are 32 bits wide."""
    text = str(name)
    found = DTYPES.get(_NAMES.get(text, text))
    if found is None and text in ("float64", "int64", "uint64"):
        found = np.dtype(text)
    if found is None:
        raise AscendError(f"there is no data type '{text}'")
    return found


@dataclass(eq=False)
class Cell:
    """One allocation: where it is, and whether it may be used. Views share the cell of the buffer that they look at.

    ``address`` is ``None`` for global memory and for what has no planned place. ``owner`` is ``"pool"``, ``"scope"``
    or empty. ``flight`` names the stream whose copy into it has not ended.
    """

    uid: int
    name: str
    space: str
    nbytes: int
    base: Array
    address: int | None
    owner: str = ""
    freed: tuple[str, int] | None = None
    flight: str = ""
    role: str = ""


@dataclass(frozen=True)
class MemoryStats:
    """``T.memory_stats()``: bytes that are allocated now, the most that were, and those that were released."""

    allocated_bytes: int
    peak_bytes: int
    freed_bytes: int

    def __getitem__(self, name: str) -> int:
        found: int = getattr(self, name)
        return found


@dataclass(frozen=True)
class TraceLine:
    """One line of ``T.memory_trace``: what happened (``alloc``, ``free``, ``copy``) to which buffer, and where."""

    what: str
    name: str
    space: str
    nbytes: int
    line: int


@dataclass(eq=False)
class Machine:
    """One program of a launch.

    ``plan`` gives the addresses by name (``None``: nothing gave any), ``program`` is what they were planned for.
    """

    hardware: AscendTarget
    program: Program | None
    plan: Mapping[str, int]
    block: int = 0
    vector: int = 0
    arenas: dict[str, Array] = field(default_factory=dict)
    cells: list[Cell] = field(default_factory=list)
    tiles: list[TileRow] = field(default_factory=list)
    tensors: list[HbmTensor] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    reads: list[tuple[str, Cell, Array]] = field(default_factory=list)
    tracing: list[list[TraceLine]] = field(default_factory=list)
    scopes: list[Cell] = field(default_factory=list)
    flags: dict[int, int] = field(default_factory=dict)
    streams: list[str] = field(default_factory=list)
    pools: dict[int, Any] = field(default_factory=dict)
    grid: int | None = None
    vectors: int = 1
    allocated: int = 0
    peak: int = 0
    freed: int = 0
    names: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    _calls: dict[int, int] = field(default_factory=dict)
    _loose: dict[str, int] = field(default_factory=dict)

    def expected(self) -> Planned | None:
        """What was planned for the buffer that the running call is about to make."""
        _, line = user_location()
        mine = [b for b in self.program.buffers if b.line == line] if self.program is not None else []
        return mine[self._calls.get(line, 0) % len(mine)] if mine else None

    # --- allocation --------------------------------------------------------------------------------------------------

    def planned(self) -> tuple[str, Planned | None]:
        """The name of the buffer that the running call makes, and what was planned for it."""
        _, line = user_location()
        order = self._calls.get(line, 0)
        self._calls[line] = order + 1
        mine = [b for b in self.program.buffers if b.line == line] if self.program is not None else []
        if mine:
            buffer = mine[order % len(mine)]
            return buffer.name, buffer
        named = self.names.get(line, ())
        return named[order % len(named)] if named else "", None

    def allocate(self, space: str, shape: tuple[int, ...], dtype: str, align: int = 1, owner: str = "") -> Cell:
        """A new buffer's cell in ``space``, at its planned address where it has one."""
        name, planned = self.planned()
        kind = dtype_of(dtype)
        nbytes = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
        address = self.plan.get(name) if planned is not None else None
        if space == "GM":
            cell = Cell(len(self.cells), name, space, nbytes, np.zeros(nbytes, np.uint8), None, owner)
            self.cells.append(cell)
            self.note_tensor(cell, shape, kind, "")
            self._account(cell, nbytes)
            return cell
        arena = self.hardware.arenas[space]
        at = address
        if at is None:
            at = aligned(self._loose.get(space, 0), max(arena.align, align))
        if at + nbytes > arena.limit or (planned is not None and address is None):
            end = at + nbytes
            raise OutOfMemory(
                f"'{name}' does not fit: {nbytes} bytes of {space}, which has {arena.limit} on {self.hardware.name}"
                + (f", would end at {end}" if end > arena.limit else "")
            )
        if address is None:
            self._loose[space] = at + nbytes
        base = self.arena(space)[at : at + nbytes]
        cell = Cell(len(self.cells), name, space, nbytes, base, address, owner)
        self.cells.append(cell)
        file, line = user_location()
        row = None if address is None else 0
        self.tiles.append(TileRow(cell.uid, name, (), space.lower(), row, address, 1, nbytes, _plain(kind), file, line))
        self._account(cell, nbytes)
        return cell

    def arena(self, space: str) -> Array:
        if space not in self.arenas:
            self.arenas[space] = np.full(self.hardware.arenas[space].size, _FRESH, np.uint8)
        return self.arenas[space]

    def note_tensor(
        self, cell: Cell, shape: tuple[int, ...], kind: np.dtype[Any], role: str, output: int | None = None
    ) -> None:
        """Record a tensor in global memory."""
        cell.role = role
        file, line = user_location()
        self.tensors.append(HbmTensor(cell.uid, cell.name, role, shape, _plain(kind), output, "", file, line))

    def _account(self, cell: Cell, nbytes: int) -> None:
        self.allocated += nbytes
        self.peak = max(self.peak, self.allocated)
        self.trace("alloc", cell)

    def release(self, cell: Cell, what: str) -> None:
        """End the life of a buffer; a second time is an error."""
        if cell.freed is not None:
            raise AscendError(f"{what}: '{cell.name}' was released in line {cell.freed[1]} already")
        cell.freed = user_location()
        self.allocated -= cell.nbytes
        self.freed += cell.nbytes
        self.trace("free", cell)

    def usable(self, cell: Cell) -> None:
        """Raise an error for a buffer that was released, or that a copy of a stream still writes."""
        if cell.freed is not None:
            raise AscendError(f"'{cell.name}' is used after it was released in line {cell.freed[1]}")
        if cell.flight:
            raise AscendError(
                f"'{cell.name}' is used inside of T.stream('{cell.flight}'), whose copy into it ends with the block"
            )

    def stats(self) -> MemoryStats:
        return MemoryStats(self.allocated, self.peak, self.freed)

    def trace(self, what: str, cell: Cell) -> None:
        for lines in self.tracing:
            lines.append(TraceLine(what, cell.name, cell.space, cell.nbytes, user_location()[1]))

    # --- the record --------------------------------------------------------------------------------------------------

    def record(
        self, op: str, operands: list[tuple[str, Cell, Array]], attributes: tuple[tuple[str, Any], ...] = ()
    ) -> None:
        """One operation: its operands, and what was read on the way to it as numbers."""
        file, line = user_location()
        seen = [*operands, *self.reads]
        self.reads.clear()
        places = tuple(_operand(role, cell, array) for role, cell, array in seen)
        self.events.append(Event(len(self.events) + 1, op, places, attributes, file, line))


def _plain(kind: np.dtype[Any]) -> str:
    return "uint8" if kind.kind == "b" else kind.name


def _operand(role: str, cell: Cell, array: Array) -> Operand:
    """Where an operand lies: bytes on chip, elements in global memory."""
    size = array.itemsize
    begin = array.__array_interface__["data"][0] - cell.base.__array_interface__["data"][0]
    if cell.space == "GM":
        steps: list[Step] = [(0, stride // size, n) for stride, n in zip(array.strides, array.shape, strict=True)]
        return Operand(role, "hbm", cell.uid, False, 0, begin // size, merged_steps(steps), _plain(array.dtype))
    steps = [(0, stride, count) for stride, count in zip(array.strides, array.shape, strict=True)]
    at = begin + (cell.address or 0)
    pinned = cell.address is not None
    return Operand(role, cell.space.lower(), cell.uid, pinned, 0, at, merged_steps(steps), _plain(array.dtype))


RUNNING: ContextVar[Machine | None] = ContextVar("ASCEND", default=None)
"""The machine of the program that runs now."""


def current() -> Machine:
    """The machine of the running kernel; an error outside of one."""
    machine = RUNNING.get()
    if machine is None:
        raise AscendError("T.* allocates and computes inside of a kernel only")
    return machine


def hardware_named(name: str) -> AscendTarget:
    return TARGETS[name]
