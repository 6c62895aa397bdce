"""The kinds of hazards, and how tiles and places are spelled in one."""

from __future__ import annotations

from dataclasses import replace

from ..compare.hazard import Hazard
from ..compare.trace import HbmTensor, TileRow
from ..compare.verdict import Place
from ..events import Event, Operand
from ..spec.hardware import PSUM_BANK_BYTES

KINDS = {
    "overwritten": "a tile is read whose bytes another tile has overwritten",
    "unwritten": "bytes are used that were never written",
    "interleaved_groups": "matmul accumulation groups are interleaved in a PSUM bank",
    "dependent_iterations": "iterations of an affine_range depend on each other",
    "oversubscribed": "the tiles that live at once do not fit",
    "bank_collision": "tiles that live at once share a PSUM bank",
    "overlap": "tensors that live at once have overlapping addresses",
    "allocator": "SbufManager gives out memory that is in use, or loses it",
    "off_bank": "a PSUM tensor does not start at a bank boundary",
}
"""Every kind of hazard, with what it says."""


def merged(hazards: list[Hazard]) -> tuple[Hazard, ...]:
    """The hazards without repetitions: one for each kind, pair of tensors and pair of lines, with their number."""
    kept: dict[tuple[object, ...], Hazard] = {}
    for hazard in hazards:
        key = (hazard.kind, hazard.names, *((p.file, p.line) for p in (hazard.first, hazard.second)))
        before = kept.get(key)
        kept[key] = hazard if before is None else replace(before, count=before.count + hazard.count)
    return tuple(kept.values())


def declared_at(tile: TileRow | HbmTensor) -> Place:
    """The declaration of a tile."""
    return Place(tile.file, tile.line, f"'{label(tile)}' is declared: {address(tile)}")


def executed_at(event: Event, what: str) -> Place:
    """An instruction, with what it does to which tile."""
    return Place(event.file, event.line, f"{event.op} {what}")


def label(tile: TileRow | HbmTensor) -> str:
    return tile.label if isinstance(tile, TileRow) else tile.name


def address(tile: TileRow | HbmTensor) -> str:
    """A tile's address, as a person reads it."""
    if isinstance(tile, HbmTensor):
        return f"hbm, shape {list(tile.shape)}"
    if tile.partition is None or tile.byte is None:
        return f"{tile.space} where the compiler puts it, {tile.partitions} partitions x {tile.nbytes} bytes"
    partitions = f"partitions {tile.partition}-{tile.partition + tile.partitions - 1}"
    return f"{tile.space} {partitions}, {bytes_at(tile.space, tile.byte, tile.nbytes)}"


def bytes_at(space: str, byte: int, nbytes: int) -> str:
    """``bytes 0-511``, for PSUM ``bank 2 bytes 0-511``."""
    if space != "psum":
        return f"bytes {byte}-{byte + max(nbytes, 1) - 1}"
    bank, start = divmod(byte, PSUM_BANK_BYTES)
    return f"bank {bank} bytes {start}-{start + max(nbytes, 1) - 1}"


def touched(operand: Operand, itemsize: int) -> str:
    """The partitions and bytes between the first and the last element of an access."""
    rows = 1 + sum(step * (count - 1) for step, _, count in operand.steps)
    last = sum(step * (count - 1) for _, step, count in operand.steps)
    if operand.space == "hbm":
        return f"elements {operand.byte}-{operand.byte + last}"
    where = bytes_at(operand.space if operand.pinned else "", operand.byte, last + itemsize)
    return f"partitions {operand.partition}-{operand.partition + rows - 1} {where}"
