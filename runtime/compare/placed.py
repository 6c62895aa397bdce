"""A result that is computed into a tile of its own and copied to its place is computed there.

The new kernel has such a tile where the source does not tell that the type which a call says is that of its
destination. The two are one instruction where the copy rounds nothing, where the instruction only moves what it reads,
and where the tile has the float32 that the instruction computes, which only the copy rounds. Source: rule NKI021
(``dtype=`` of a call whose result is assigned to a part of a tile).
"""

from __future__ import annotations

from dataclasses import replace

from ..events import Event, Operand
from ..spec.comparison import WRITTEN_ROLES
from .correspondence import covers, keeps_old_bytes
from .trace import Program, TileRow

COPY = "tensor_copy"
_MOVES = frozenset({"nc_transpose", "tensor_copy", "dma_copy"})
"""Instructions that compute nothing: a type that is converted after them is converted by them."""
_IN_FLOAT32 = frozenset({"activation", "reciprocal", "scalar_tensor_tensor", "tensor_reduce"})
_IN_FLOAT32 |= {"tensor_scalar", "tensor_tensor", "tensor_tensor_scan"}


class Placed:
    """The instructions of a program whose result the next instruction copies to its place."""

    def __init__(self, program: Program) -> None:
        self._program, self._events = program, program.events
        self._tiles: dict[int, TileRow] = {tile.uid: tile for tile in program.tiles}

    def at(self, index: int) -> Event | None:
        """The instruction at ``index`` with the place that its result is copied to; none where nothing is copied."""
        if index + 1 >= len(self._events) or self._events[index + 1].op != COPY or self._events[index + 1].attributes:
            return None
        event, copy = self._events[index : index + 2]
        written = [operand for operand in event.operands if operand.role in WRITTEN_ROLES]
        roles = {operand.role: operand for operand in copy.operands}
        if len(written) != 1 or set(roles) != {"dst", "src"} or keeps_old_bytes(event):
            return None
        own, place = written[0], roles["dst"]
        if not self._is_own(own) or _access(own) != _access(roles["src"]) or not _is_whole(own, place):
            return None
        if own.dtype != place.dtype and not _moves(event, own) and not _has_all_bits(event, own):
            return None
        operands = tuple(replace(place, role=own.role) if each is own else each for each in event.operands)
        return replace(event, operands=operands)

    def is_copied(self, index: int) -> bool:
        """Does the next instruction copy what the one at ``index`` writes, and no more of the tile?"""
        if index + 1 >= len(self._events) or self._events[index + 1].op != COPY:
            return False
        written = [_access(operand) for operand in self._events[index].operands if operand.role in WRITTEN_ROLES]
        read = (operand for operand in self._events[index + 1].operands if operand.role == "src")
        return any(_access(operand) in written for operand in read)

    def _is_own(self, operand: Operand) -> bool:
        """Is it all of a tile without an address that only two instructions touch?"""
        tile = self._tiles.get(operand.tile)
        if tile is None or operand.pinned or not covers(operand, tile):
            return False
        return self._program.touching[operand.tile] == 2


def _is_whole(*operands: Operand) -> bool:
    return all(operand.exact and operand.used for operand in operands)


def _moves(event: Event, own: Operand) -> bool:
    """Does the instruction write what it reads, in the type that it reads?"""
    read = [operand for operand in event.operands if operand.role not in WRITTEN_ROLES]
    is_transpose = event.op == "nc_matmul" and dict(event.attributes).get("is_transpose") is True
    return (event.op in _MOVES or is_transpose) and bool(read) and all(each.dtype == own.dtype for each in read)


def _has_all_bits(event: Event, own: Operand) -> bool:
    """Does a tile of float32 hold what an instruction computes? Of integers of 32 bits some results are exact."""
    read = {operand.dtype for operand in event.operands if operand.role not in WRITTEN_ROLES}
    return own.dtype == "float32" and event.op in _IN_FLOAT32 and read.isdisjoint({"int32", "uint32"})


def _access(operand: Operand) -> tuple[object, ...]:
    return operand.tile, operand.space, operand.partition, operand.byte, operand.steps, operand.dtype
