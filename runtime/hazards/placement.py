"""Addresses that the hardware, or the compiler behind the front end, does not accept."""

from __future__ import annotations

from collections.abc import Iterator

from ..compare.hazard import Hazard
from ..compare.trace import Program, TileRow
from ..events import Operand
from ..spec.hardware import PSUM_BANK_BYTES
from .accesses import owners, size, written
from .lifetimes import Life, box_of, concurrent, intersect, lives, share_partitions
from .model import address, declared_at, executed_at, label, touched


def off_bank(program: Program) -> list[Hazard]:
    """PSUM tensors that start inside a bank ("else compiler error", ``nl.ndarray`` of 2.28)."""
    return [
        Hazard(
            "off_bank",
            f"'{label(tile)}' starts inside a PSUM bank: {address(tile)}",
            (label(tile),),
            declared_at(tile),
            declared_at(tile),
            f"a PSUM tensor starts at a multiple of {PSUM_BANK_BYTES} bytes: declare a whole bank and slice it",
        )
        for tile in program.tiles
        if tile.space == "psum" and tile.byte is not None and tile.byte % PSUM_BANK_BYTES
    ]


def shared_addresses(program: Program) -> list[Hazard]:
    """Tiles with overlapping addresses, or in one PSUM bank, whose values live at the same time."""
    pinned = [life for life in lives(program, pinned=True) if life.was_read]
    found = []
    for space in ("sbuf", "psum"):
        for a, b in concurrent(life for life in pinned if life.tile.space == space):
            if intersect(a.box, b.box):
                found.append(_pair(program, "overlap", a, b, "have overlapping addresses and live at the same time"))
            elif space == "psum" and share_partitions(a.box, b.box) and _bank(a.tile) & _bank(b.tile):
                found.append(_pair(program, "bank_collision", a, b, "share a PSUM bank and live at the same time"))
    return found + list(_shifted(program))


def _bank(tile: TileRow) -> set[int]:
    first = tile.byte or 0
    return set(range(first // PSUM_BANK_BYTES, (first + max(tile.nbytes, 1) - 1) // PSUM_BANK_BYTES + 1))


def _pair(program: Program, kind: str, a: Life, b: Life, what: str) -> Hazard:
    names = label(a.tile), label(b.tile)
    begins, ends = program.events[b.first], program.events[a.last]
    return Hazard(
        kind,
        f"'{names[0]}' and '{names[1]}' {what}: {address(a.tile)} and {address(b.tile)}",
        names,
        executed_at(begins, f"begins to write '{names[1]}'"),
        executed_at(ends, f"still uses '{names[0]}'"),
        "give the two different addresses, or end the use of one before the other begins",
    )


def _shifted(program: Program) -> Iterator[Hazard]:
    """Instructions whose destination overlaps a source of another tile, at another place than the source's own."""
    tiles = owners(program)
    for event in program.events if any(tile.pinned for tile in program.tiles) else ():
        sources = [o for o in event.operands if o.pinned]
        for target in written(event):
            for source in sources if target.pinned else ():
                same_tile = source.tile == target.tile or source.space != target.space
                if same_tile or _at(source) == _at(target) or not intersect(box_of(source), box_of(target)):
                    continue
                names = label(tiles[source.tile]), label(tiles[target.tile])
                yield Hazard(
                    "overlap",
                    f"{event.op} reads '{names[0]}' and writes '{names[1]}' over it, at another place: "
                    f"{address(tiles[source.tile])} and {address(tiles[target.tile])}",
                    names,
                    executed_at(event, f"reads '{names[0]}' at {touched(source, size(source))}"),
                    executed_at(event, f"writes '{names[1]}' at {touched(target, size(target))}"),
                    "give the two tensors addresses that do not overlap",
                )


def _at(operand: Operand) -> tuple[int, int]:
    return operand.partition, operand.byte
