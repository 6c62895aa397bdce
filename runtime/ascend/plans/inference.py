"""In which memory ``alloc_shared`` and ``alloc_fragment`` put a buffer: the fork infers it from the matmuls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from .model import Buffer, Program

_OF_OPERAND = {0: "L0A", 1: "L0B", 2: "L0C"}


def with_spaces(program: Program, matmuls: Mapping[str, set[int]]) -> Program:
    """The program with a memory for each buffer; ``matmuls`` are the operand positions in which one is used.

    A shared buffer that a matmul reads lies in L1, any other in UB; a fragment lies where its position says, without
    one in L0C.
    """
    return replace(
        program, buffers=tuple(_placed(buffer, matmuls.get(buffer.name, set())) for buffer in program.buffers)
    )


def _placed(buffer: Buffer, positions: set[int]) -> Buffer:
    if buffer.space != "?":
        return buffer
    if buffer.call == "alloc_shared":
        return replace(buffer, space="L1" if positions & {0, 1} else "UB")
    return replace(buffer, space=_OF_OPERAND[min(positions)] if positions else "L0C")
