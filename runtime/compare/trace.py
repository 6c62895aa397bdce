"""What one run of a kernel leaves behind: plain data that can cross from a worker to the tool, and be compared."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Container, Iterable
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from ..events import Event, Loop, flat, from_flat, with_said
from ..machine import Machine
from ..memory import Allocation
from ..numerics import DTYPES
from ..packed import PACKED, type_name
from ..reading import Reads
from ..spec.hardware import PSUM_BANK_BYTES
from .condition import Condition
from .hazard import Hazard

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class TileRow:
    """One logical tile: the variable it was assigned to, its position in a list or block tensor, and where it lies.

    ``partition`` and ``byte`` are ``None`` for a tile that nobody pinned. ``nbytes`` counts per partition.
    """

    uid: int
    tensor: str
    block: tuple[int, ...]
    space: str
    partition: int | None
    byte: int | None
    partitions: int
    nbytes: int
    dtype: str
    file: str
    line: int

    @property
    def pinned(self) -> bool:
        return self.byte is not None

    @property
    def seen(self) -> tuple[Any, ...]:
        """What a map shows of the tile: all but where the declaration stands, and its number."""
        return self.tensor, self.block, self.space, self.partition, self.byte, self.partitions, self.nbytes, self.dtype

    @property
    def bank(self) -> int | None:
        return None if self.space != "psum" or self.byte is None else self.byte // PSUM_BANK_BYTES

    @property
    def label(self) -> str:
        """``name[2][0]``, as a person would write it."""
        return (self.tensor or "<unnamed>") + "".join(f"[{index}]" for index in self.block)

    def as_json(self) -> dict[str, Any]:
        """The row of ``nki-migrate layout --output-format json``."""
        row: dict[str, Any] = {
            "tensor": self.tensor,
            "block": list(self.block),
            "space": self.space,
            "partition": self.partition,
            "byte": self.byte,
        }
        if self.space == "psum":
            row["bank"] = self.bank
        return {**row, "partitions": self.partitions, "bytes": self.nbytes, "dtype": self.dtype}


@dataclass(frozen=True)
class HbmTensor:
    """One HBM tensor of a run. ``output`` is its place among the returned tensors, ``digest`` a constant's content.

    ``kind`` is the kind of HBM (:data:`~.spec.comparison.HBM_KINDS`) of what the kernel declares.
    """

    uid: int
    name: str
    role: str
    shape: tuple[int, ...]
    dtype: str
    output: int | None
    digest: str
    file: str
    line: int
    kind: str = ""


LARGE = 1 << 22
"""Bytes from which an output is not copied, and crosses in memory (:mod:`..elsewhere`)."""


@dataclass(frozen=True)
class Elsewhere:
    """Bytes of an output that did not cross: in the memory behind a ``descriptor`` of a ``process``, from ``start``."""

    process: int
    descriptor: int
    start: int
    size: int


@dataclass(frozen=True)
class Packed:
    """An array as bytes: crosses process boundaries without executing anything on arrival.

    ``data`` may be a view on memory of another owner, who writes to it no more, and on its way :class:`Elsewhere`.
    """

    shape: tuple[int, ...]
    dtype: str
    data: bytes | memoryview | Elsewhere

    @staticmethod
    def of(array: Array) -> Packed:
        """The bytes of ``array``. A large one is not copied: it must keep its values from now on."""
        name, whole = type_name(array.dtype), np.ascontiguousarray(array)
        if array.nbytes < LARGE:
            return Packed(array.shape, name, whole.tobytes())
        return Packed(array.shape, name, whole.reshape(-1).view(np.uint8).data.toreadonly())

    def array(self) -> Array:
        assert not isinstance(self.data, Elsewhere)
        return np.frombuffer(self.data, dtype_named(self.dtype)).reshape(self.shape)

    def __getstate__(self) -> dict[str, Any]:
        data = self.data
        return {**vars(self), "data": data if isinstance(data, Elsewhere) else bytes(data)}


@dataclass(frozen=True)
class Program:
    """One program of the launch grid: its tiles and HBM tensors in declaration order, its instructions in order.

    ``loops`` are the runs of its parallel loops, ``untracked`` the tiles that something else than an instruction wrote,
    ``flaws`` what an allocator of the library did: kind, the two tiles, text. ``passed`` are functions of the language
    that gave back their operand (``nl.broadcast_to`` to the shape that it has), without a destination.
    """

    tiles: tuple[TileRow, ...]
    tensors: tuple[HbmTensor, ...]
    events: tuple[Event, ...]
    loops: tuple[Loop, ...] = ()
    untracked: tuple[int, ...] = ()
    flaws: tuple[tuple[str, int, int, str], ...] = ()
    passed: tuple[Event, ...] = ()

    @cached_property
    def touching(self) -> Counter[int]:
        """How many instructions touch each tile."""
        return Counter(tile for event in self.events for tile in {operand.tile for operand in event.operands})

    def without(self, sequences: Container[int]) -> Program:
        """The program without the instructions of these sequence numbers."""
        return replace(self, events=tuple(event for event in self.events if event.sequence not in sequences))

    def __getstate__(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self)} | {"events": flat(self.events)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, events=from_flat(state["events"]))


@dataclass(frozen=True)
class Run:
    """A kernel that ran: its outputs in return order, and the record of each program of its grid.

    ``printed`` is what it wrote to standard output and standard error, ``seconds`` how long it took, ``reads`` what it
    read, ``hazards`` what was found in its record and ``conditions`` how its conditions went, if it was asked for. The
    tiles lie in the memories of ``language``. ``notes`` say what of the run is not as sure as the rest.
    ``version`` is the version of NKI that it ran as, empty for Beta 1 and other languages. ``form`` is what
    :func:`form_of` says of the value that it returned, empty where it returned nothing, and in other languages.
    ``cores`` is how many NeuronCores it ran on, 0 where that is not known.
    """

    outputs: tuple[Packed, ...]
    programs: tuple[Program, ...]
    printed: str = ""
    seconds: float = 0.0
    reads: Reads = field(default=Reads(), compare=False)
    hazards: tuple[Hazard, ...] = ()
    language: str = "nki"
    conditions: tuple[Condition, ...] = ()
    notes: tuple[str, ...] = field(default=(), compare=False)
    version: str = field(default="", compare=False)
    form: str = ""
    cores: int = 0

    @property
    def distinct_tiles(self) -> list[TileRow]:
        """The tiles of all programs in declaration order, without declarations that repeat an earlier one."""
        distinct: dict[tuple[Any, ...], TileRow] = {}
        for program in self.programs:
            for row in program.tiles:
                distinct.setdefault(row.seen, row)
        return list(distinct.values())


@dataclass(frozen=True)
class Compared:
    """A comparison in a failed ``assert``: its operator (``Eq``, ``LtE``), the texts of its operands, their values."""

    operator: str
    left: str
    right: str
    before: Any
    after: Any


@dataclass(frozen=True)
class Failure:
    """A kernel that did not run to its end.

    ``undecided`` tells a construct that the emulator does not model from a broken kernel or case. ``file`` and ``line``
    are the kernel's, 0 when unknown. ``help`` says what to do, where there is something. ``lasting``: will another run
    of the same files fail in the same way? (A time limit may not be met again.) ``trail`` are the file and the line of
    each function of the user's that ran, outermost first, ``compared`` what a failed ``assert`` compared, and
    ``reached`` the number of lines whose instructions had run, if asked. ``of_sizes``: did an instruction refuse
    operands of different sizes? ``of_types``: of different types? ``reach``, ``outgrown``: as of a probe that
    ended well. ``seconds``: what its process had.
    """

    undecided: bool
    message: str
    file: str = ""
    line: int = 0
    help: str = ""
    printed: str = ""
    reads: Reads = field(default=Reads(), compare=False)
    lasting: bool = True
    trail: tuple[tuple[str, int], ...] = ()
    compared: tuple[Compared, ...] = ()
    reached: int = 0
    of_sizes: bool = False
    of_types: bool = False
    reach: tuple[tuple[str, tuple[int, ...]], ...] = ()
    outgrown: tuple[tuple[int, int], ...] = ()
    seconds: float = field(default=0.0, compare=False)


def form_of(returned: object) -> str:
    """How the tensors of a returned value are nested: ``(tensor, (tensor,))``; empty for a kernel that returns nothing.

    A list is as a tuple: both front ends take the tensors of both in order, and a caller unpacks them alike.
    """
    return "" if returned is None else _form(returned)


def _form(value: object) -> str:
    if isinstance(value, (list, tuple)):
        items = [_form(item) for item in value]
        return f"({', '.join(items)}{',' * (len(items) == 1)})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {_form(item)}" for key, item in value.items()) + "}"
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)
    return "tensor"


def run_of(outputs: Iterable[object], machines: Iterable[Machine], form: str = "") -> Run:
    """The record of a launch of NKI: what it returned, and the programs that its machines ran."""
    packed, ran = tuple(Packed.of(np.asarray(output)) for output in outputs), tuple(machines)
    programs = tuple(program for machine in ran for program in traces_of(machine))
    return Run(packed, programs, form=form, cores=len(ran))


def traces_of(machine: Machine) -> tuple[Program, ...]:
    """The records of the programs that one machine ran: one, or those of the grid that its kernel looped over."""
    whole = trace_of(machine)
    if len(machine.programs) < 2:
        return (whole,)
    ends = [*machine.programs[1:], (len(machine.allocations), len(whole.events) and whole.events[-1].sequence)]
    shared = machine.programs[0][0]
    return tuple(
        _part(whole, shared, tiles, end_of_tiles, events, end)
        for (tiles, events), (end_of_tiles, end) in zip(machine.programs, ends, strict=True)
    )


def _part(whole: Program, shared: int, tiles: int, end_of_tiles: int, events: int, end: int) -> Program:
    """What was declared before all programs or in this one, or touched by it, and its own instructions."""
    own = tuple(event for event in whole.events if events < event.sequence <= end)
    touched = {operand.tile for event in own for operand in event.operands}

    def belongs(uid: int) -> bool:
        return uid < shared or tiles <= uid < end_of_tiles or uid in touched

    return Program(
        tuple(row for row in whole.tiles if belongs(row.uid)),
        tuple(row for row in whole.tensors if belongs(row.uid)),
        own,
        untracked=tuple(uid for uid in whole.untracked if belongs(uid)),
        flaws=tuple(flaw for flaw in whole.flaws if belongs(flaw[1]) and belongs(flaw[2])),
        passed=tuple(event for event in whole.passed if events < event.sequence <= end),
    )


def trace_of(machine: Machine) -> Program:
    """The record of all that one machine ran."""
    on_chip = [a for a in machine.allocations if a.space != "hbm"]
    hbm = [a for a in machine.allocations if a.space == "hbm"]
    return Program(
        tuple(_row(allocation) for allocation in on_chip),
        tuple(_tensor(allocation) for allocation in hbm),
        tuple(_plain_event(event) for event in machine.events),
        () if machine.recorder is None else machine.recorder.loops(),
        () if machine.recorder is None else tuple(sorted(machine.recorder.untracked)),
        tuple(machine.flaws),
        () if machine.recorder is None else machine.recorder.passed(),
    )


def _row(allocation: Allocation) -> TileRow:
    return TileRow(
        allocation.uid,
        allocation.name,
        tuple(int(index) for index in allocation.block),
        allocation.space,
        None if allocation.partition is None else int(allocation.partition),
        None if allocation.byte is None else int(allocation.byte),
        int(allocation.partitions),
        int(allocation.nbytes),
        type_name(allocation.dtype),
        allocation.file,
        allocation.line,
    )


def _tensor(allocation: Allocation) -> HbmTensor:
    return HbmTensor(
        allocation.uid,
        allocation.name,
        allocation.role,
        tuple(int(n) for n in allocation.shape),
        type_name(allocation.dtype),
        allocation.output,
        content_digest(allocation.memory) if _may_be_constant(allocation) else "",
        allocation.file,
        allocation.line,
        allocation.kind,
    )


_LARGEST_CONSTANT = 1 << 20
"""Elements of a tensor in HBM that a kernel may have made as a constant."""


def _may_be_constant(allocation: Allocation) -> bool:
    """Is a tensor a constant, or scratch memory that may hold one at the end?"""
    is_scratch = allocation.role != "input" and allocation.output is None
    return allocation.role == "constant" or (is_scratch and prod(allocation.shape) <= _LARGEST_CONSTANT)


def content_digest(array: Array) -> str:
    """Digest of shape and values; equal values of different types agree (an identity in int8 and in bfloat16)."""
    values = np.ascontiguousarray(array).astype(np.float64) + 0.0
    return hashlib.sha256(repr(array.shape).encode() + values.tobytes()).hexdigest()


def dtype_named(name: str) -> np.dtype[Any]:
    """The numpy data type of a name that :func:`~nki_migrate.runtime.packed.type_name` gave."""
    found = DTYPES.get(name) or PACKED.get(name)
    return np.dtype(name) if found is None else found


_PLAIN = (bool, str, int, float, type(None))


def _plain_event(event: Event) -> Event:
    """``event`` without objects of a kernel's own; most have none."""
    is_plain = all(type(value) in _PLAIN for _, value in event.attributes)
    if is_plain and all(type(value) in _PLAIN for _, _, value in event.exempt):
        return event
    exempt = tuple((function, key, plain(value)) for function, key, value in event.exempt)
    told = with_said(event, exempt)
    return told if is_plain else replace(told, attributes=tuple((key, plain(value)) for key, value in event.attributes))


def plain(value: Any) -> Any:
    """``value`` without objects of a kernel's own: numbers, text, tuples; anything else as its ``repr``."""
    if value is None or isinstance(value, (bool, str)) or type(value) in (int, float):
        return value
    if isinstance(value, np.dtype):
        return value.name
    if isinstance(value, (np.generic, np.ndarray)):
        return plain(value.astype(np.float64).tolist() if value.dtype.kind not in "iubf" else value.tolist())
    if isinstance(value, (list, tuple)):
        return tuple(plain(item) for item in value)
    if isinstance(value, (int, float)):
        return float(value) if isinstance(value, float) else int(value)
    return repr(value)
