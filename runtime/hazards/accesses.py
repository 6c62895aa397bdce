"""Which operands of an instruction are read, and which are written."""

from __future__ import annotations

from functools import cache

from ..compare.trace import HbmTensor, Program, TileRow, dtype_named
from ..events import Event, Operand
from ..spec.comparison import WRITTEN_ROLES

_ADDING = ("accumulate", "dst_rmw_op")
_REDUCING = {
    **{name: name for name in ("add", "multiply", "maximum", "minimum", "bitwise_and", "bitwise_or")},
    "max": "maximum",
    "min": "minimum",
}
"""Operators that may be applied in any order, by the names that they are recorded under."""
MATMULS = frozenset({"nc_matmul", "nc_matmul_mx"})
_REDUCING_OPS = frozenset({"tensor_tensor", "loop_reduce"})
Memory = tuple[str, int]
"""Where bytes lie: ``("sbuf", -1)`` and ``("psum", -1)`` for pinned tiles, else the space and the tile's own uid."""


def written(event: Event) -> list[Operand]:
    return [operand for operand in event.operands if operand.role in WRITTEN_ROLES]


def read(event: Event) -> list[Operand]:
    """The operands that are read, the destination among them where the instruction adds to it."""
    adds = is_adding(event)
    return [o for o in event.operands if o.role not in WRITTEN_ROLES or (adds and o.role == "dst")]


def is_adding(event: Event) -> bool:
    """Does the instruction add to what its destination holds?"""
    return any(value for name, value in event.attributes if name in _ADDING)


def reduction(event: Event) -> str | None:
    """The operator, if the order of several such instructions on one destination is free: matmuls, ``t += x``.

    A matmul that starts a group anew overwrites. Of another one that does not accumulate only the destination's history
    tells whether it opened a group that others add to, or overwrote one.
    """
    if event.restarts:
        return None
    attributes = dict(event.attributes)
    if event.op in MATMULS or attributes.get("accumulate"):
        return "add"
    if attributes.get("dst_rmw_op"):
        return str(attributes["dst_rmw_op"])
    operator = _REDUCING.get(str(attributes.get("op")))
    if event.op not in _REDUCING_OPS or operator is None:
        return None
    places = {operand.role: place(operand) for operand in event.operands}
    return operator if [places.get("data1"), places.get("data2")].count(places["dst"]) == 1 else None


def place(operand: Operand) -> tuple[object, ...]:
    return operand.tile, operand.partition, operand.byte, operand.steps, operand.dtype


def memory_of(operand: Operand) -> Memory:
    return (operand.space, -1) if operand.pinned else (operand.space, operand.tile)


@cache
def itemsize(dtype: str) -> int:
    return dtype_named(dtype).itemsize


def size(operand: Operand) -> int:
    """Units of one element: bytes on chip, 1 in HBM."""
    return 1 if operand.space == "hbm" else itemsize(operand.dtype)


def owners(program: Program) -> dict[int, TileRow | HbmTensor]:
    """Tiles and tensors of a program by their uid."""
    found: dict[int, TileRow | HbmTensor] = {tile.uid: tile for tile in program.tiles}
    found.update((tensor.uid, tensor) for tensor in program.tensors)
    return found
