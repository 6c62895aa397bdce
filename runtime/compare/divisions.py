"""Divisions that became a reciprocal and a multiplication: the one inexact rewrite, where it is declared.

Beta 2 has no divide instruction. ``x / y`` may be ``reciprocal(y)`` into a tile of its own and a multiplication by that
tile, ``x / 3.0`` a multiplication by ``1.0 / 3.0``. Here such a multiplication is read as the division that it stands
for, and it is told which outputs are computed from one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import frexp
from typing import Any

from ..events import Event, Operand
from ..spec.comparison import WRITTEN_ROLES
from .trace import Program, TileRow

RECIPROCAL = "reciprocal"
_STEPS = {"tensor_tensor": "op", "tensor_scalar": "op0"}
"""The attribute that says what an instruction computes."""


class Divisions:
    """The tiles of the new kernel that hold reciprocals, as far as its instructions have been walked."""

    def __init__(self, program: Program) -> None:
        self._tiles = {tile.uid: tile for tile in program.tiles}
        self._inverses: dict[int, tuple[Operand, Operand]] = {}

    def begin(self, event: Event, touched: set[int]) -> bool:
        """Is ``event`` a reciprocal into a tile that nothing else uses? Then remember what it is the inverse of."""
        roles = {operand.role: operand for operand in event.operands}
        if event.op != RECIPROCAL or set(roles) != {"dst", "data"}:
            return False
        if roles["dst"].pinned or roles["dst"].space == "hbm" or roles["dst"].tile in touched:
            return False
        self._inverses[roles["dst"].tile] = roles["dst"], roles["data"]
        return True

    def read_as(self, old: Event, new: Event, *, exactly: bool = False) -> Event | None:
        """The division that the multiplication ``new`` stands for, if ``old`` is a division; else ``None``.

        ``exactly``: only a division by a power of two, which is the same number.
        """
        step = _STEPS.get(new.op)
        if step is None or old.op != new.op:
            return None
        a, b = dict(old.attributes), dict(new.attributes)
        if (a.get(step), b.get(step)) != ("divide", "multiply"):
            return None
        b[step] = "divide"
        divisor = a.get("operand0")
        if "operand0" in b and isinstance(divisor, float) and "reverse0" not in a:
            if divisor == 0 or b["operand0"] != 1.0 / divisor:
                return None
            division = _with(new, {**b, "operand0": divisor}, new.operands)
            return None if exactly and not is_exact(division) else division
        if exactly:
            return None
        reverse = bool(a.get("reverse0"))
        role = "data2" if new.op == "tensor_tensor" else "data" if reverse else "operand0"
        if reverse:
            b["reverse0"] = True
        operands = tuple(self._original(operand) if operand.role == role else operand for operand in new.operands)
        return None if operands == new.operands else _with(new, b, operands)

    def _original(self, operand: Operand) -> Operand:
        """The operand whose reciprocal ``operand`` reads, or ``operand``."""
        dst, data = self._inverses.get(operand.tile, (None, None))
        if dst is None or data is None:
            return operand
        same = (operand.partition, operand.byte, operand.steps) == (dst.partition, dst.byte, dst.steps)
        return replace(data, role=operand.role) if same else operand

    def forget(self, event: Event) -> None:
        """A write to a reciprocal, or to what it is the inverse of, ends its standing for a division."""
        for operand in event.operands if self._inverses else ():
            if operand.role in WRITTEN_ROLES and operand.space != "hbm":
                written = self._tiles[operand.tile]
                self._inverses = {
                    uid: (dst, data)
                    for uid, (dst, data) in self._inverses.items()
                    if uid != operand.tile and not overlap(written, self._tiles[data.tile])
                }


def is_exact(division: Event) -> bool:
    """Is it by a number whose inverse is one, too: a power of two?"""
    divisor = dict(division.attributes).get("operand0")
    return isinstance(divisor, float) and "reverse0" not in dict(division.attributes) and abs(frexp(divisor)[0]) == 0.5


def _with(event: Event, attributes: dict[str, Any], operands: tuple[Operand, ...]) -> Event:
    return replace(event, attributes=tuple(attributes.items()), operands=operands)


def overlap(a: TileRow, b: TileRow) -> bool:
    """Are they one tile, or pinned to places that share a byte?"""
    if a.uid == b.uid:
        return True
    if a.space != b.space or a.byte is None or b.byte is None or a.partition is None or b.partition is None:
        return False
    rows = a.partition < b.partition + b.partitions and b.partition < a.partition + a.partitions
    return rows and a.byte < b.byte + b.nbytes and b.byte < a.byte + a.nbytes


def outputs_from(program: Program, inexact: Iterable[int]) -> frozenset[int]:
    """The outputs (by position) that may be computed from the results of the instructions with these sequence numbers.

    Tile by tile: an instruction that reads a tile with anything of them in it passes it on to all that it writes.
    """
    seeds = set(inexact)
    tiles = {tile.uid: tile for tile in program.tiles}
    reached: set[int] = set()
    for event in program.events if seeds else ():
        read = {operand.tile for operand in event.operands if operand.role not in WRITTEN_ROLES}
        if event.sequence in seeds or read & reached:
            written = {operand.tile for operand in event.operands if operand.role in WRITTEN_ROLES} - reached
            reached |= written
            pinned = [tiles[uid] for uid in written if uid in tiles and tiles[uid].pinned]
            reached |= {uid for uid, tile in tiles.items() if any(overlap(tile, other) for other in pinned)}
    return frozenset(t.output for t in program.tensors if t.uid in reached and t.output is not None)
