"""What one instruction computed, before it has a destination."""

from __future__ import annotations

from typing import Any

from ..memory import Array, View


class Result:
    """What one instruction computed.

    ``values`` has the instruction's natural result shape, in fp32 (or raw integers and bytes where the engine keeps
    them), and may lie in the memory of an operand (:func:`keep`). ``reads`` are the operands as (role, view),
    ``attributes`` the immediates that belong to the instruction's identity. ``accumulates`` is true for matmul: PSUM
    adds it to a group that is open; ``restarts`` where the kernel asks for a new group (Beta 1's ``psum[...] =
    matmul``). ``truncates`` is true for the quotient of integers, which an integer destination takes without its
    fraction. ``engine`` is the one that the kernel or the operator chooses, empty where the table tells or the compiler
    is free (:mod:`..spec.instructions`). ``sequence`` is set when the event's place in the stream was reserved before
    the destination was known (Beta 1).
    """

    __slots__ = (
        "accumulates",
        "also_writes",
        "attributes",
        "engine",
        "location",
        "op",
        "reads",
        "restarts",
        "sequence",
        "truncates",
        "values",
    )
    op: str
    values: Array
    reads: tuple[tuple[str, View], ...]
    attributes: tuple[tuple[str, Any], ...]
    accumulates: bool
    restarts: bool
    truncates: bool
    engine: str
    also_writes: tuple[tuple[str, View], ...]
    sequence: int | None
    location: tuple[str, int] | None


def result_of(
    op: str,
    values: Array,
    reads: tuple[tuple[str, View], ...],
    attributes: tuple[tuple[str, Any], ...] = (),
    accumulates: bool = False,
) -> Result:
    """What an instruction computed, whose place in the program nobody told yet.

    A function and no ``__init__``, here and of all that each instruction makes: Python 3.11 calls it faster.
    """
    made = Result()
    made.op = op
    made.values = values
    made.reads = reads
    made.attributes = attributes
    made.accumulates = accumulates
    made.restarts = False
    made.truncates = False
    made.engine = ""
    made.also_writes = ()
    made.sequence = None
    made.location = None
    return made
