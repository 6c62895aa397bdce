"""Is an instruction legal where its operands lie? One check, of every instruction of both front ends.

The table of :mod:`..spec.instructions` says which memories an engine reaches and where an access may start. A tile that
the compiler places starts at a partition where a tile may lie, so that the same rule holds for its parts.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ..errors import KernelError
from ..machine import Machine
from ..memory import Array, View, address_of
from ..spec.instructions import (
    ANY,
    ENGINES,
    INSTRUCTIONS,
    MATMUL_TYPES,
    NATIVE_TRANSPOSE,
    Engine,
    Instruction,
    start_partitions,
)
from .result import Result


def check(machine: Machine, result: Result, dst: View) -> None:
    """Raise :class:`KernelError` where the engine of ``result`` does not reach an operand, or ``dst``, as it lies."""
    row = INSTRUCTIONS.get(result.op, ANY)
    engine = ENGINES[result.engine or row.engine]
    in_psum = _checked(machine, result, row, engine, "dst", dst, True)
    if in_psum and result.accumulates:
        _check_type(machine, result, dst)
    for role, view in result.also_writes:
        _checked(machine, result, row, engine, role, view, True)
    check_reads(machine, result, row, engine)


def check_reads(machine: Machine, result: Result, row: Instruction | None = None, engine: Engine | None = None) -> None:
    """:func:`check` of what ``result`` reads: all that counts where the compiler makes a tile for the result."""
    row = row or INSTRUCTIONS.get(result.op, ANY)
    engine = engine or ENGINES[result.engine or row.engine]
    if row.apart is None:
        for role, view in result.reads:
            _checked(machine, result, row, engine, role, view, False)
        return
    in_psum = [role for role, view in result.reads if _checked(machine, result, row, engine, role, view, False)]
    if len(in_psum) > 1 and set(row.apart) <= set(in_psum):
        raise _illegal(result, f"{row.apart[0]} and {row.apart[1]} cannot both reside in PSUM")


def _checked(
    machine: Machine, result: Result, row: Instruction, engine: Engine, role: str, view: View, writes: bool
) -> bool:
    """Is an operand in PSUM? Raises where ``engine`` does not reach it."""
    alloc = view.alloc
    space = alloc.space
    if space == "hbm":
        return False
    memories = engine.writes if writes else engine.reads
    if space not in memories:
        verb = "write" if writes else "read"
        text = f"{engine.title} cannot {verb} {space.upper()}: {role} '{alloc.name}' must be in {_listed(memories)}"
        raise _illegal(result, text)
    if engine.aligned:
        shape = view.place.shape
        if shape and shape[0] != alloc.declaration.partitions and role not in row.anywhere:
            _check_start(machine, result, role, view, view.place)
    return space == "psum"


def _listed(memories: frozenset[str]) -> str:
    return " or ".join(sorted((name.upper() for name in memories), reverse=True))


def _check_start(machine: Machine, result: Result, role: str, view: View, array: Array) -> None:
    alloc = view.alloc
    if (not alloc.pinned and machine.legalizes) or not array.size:
        return
    pitch = alloc.pitch
    first = (address_of(array) - alloc.start) // pitch - alloc.origin[0]
    count = 1 + (array.shape[0] - 1) * (array.strides[0] // pitch)
    legal = start_partitions(count)
    places = start_partitions(alloc.partitions) if alloc.partition is None else (alloc.partition,)
    if any(place + first in legal for place in places):
        return
    start = first if alloc.partition is None else alloc.partition + first
    raise _illegal(
        result,
        f"{role} '{alloc.name}' is accessed at {count} partitions from partition {start}: they may start at "
        f"{', '.join(map(str, legal))}. A DMA reaches every partition",
    )


def _check_type(machine: Machine, result: Result, dst: View) -> None:
    """The type that a matmul, or a transpose by one, leaves in PSUM."""
    name, version = _name(dst.array.dtype), machine.target.version
    legal = MATMUL_TYPES[version]
    if version >= NATIVE_TRANSPOSE and ("is_transpose", True) in result.attributes:
        legal |= {_name(result.reads[0][1].array.dtype)}
    if name not in legal:
        raise _illegal(
            result, f"on {machine.target.name} dst in PSUM must be {' or '.join(sorted(legal))}, it is {name}"
        )


@cache
def _name(dtype: np.dtype[Any]) -> str:
    """The name of a type, which NumPy puts together each time that it is asked."""
    name: str = dtype.name
    return name


def _illegal(result: Result, what: str) -> KernelError:
    file, line = result.location or (None, None)
    return KernelError("", f"{result.op}: {what}", file=file, line=line)
