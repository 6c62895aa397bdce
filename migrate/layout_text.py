"""The address map of a run as text."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from nki_migrate.runtime.compare import TileRow
from nki_migrate.runtime.hazards import Hazard
from nki_migrate.runtime.spec.memory import Space

from .layout_map import Map, Memory, Place, labels

_HEADINGS = ("partitions", "bytes", "tile", "size", "dtype", "declared")


def as_text(found: Map) -> Iterator[str]:
    """The map for people: each memory by address, with gaps and sharing, then the hazards and the notes."""
    yield f"{found.title} ({found.hardware})"
    for memory in found.memories:
        yield ""
        yield from _memory_lines(memory)
    if not found.memories:
        yield "the kernel declares no tiles"
    if found.hazards:
        yield ""
        yield from hazard_lines(found.hazards)
    if found.notes:
        yield ""
        yield from (f"note: {note}" for note in found.notes)


def _memory_lines(memory: Memory) -> Iterator[str]:
    yield f"{memory.space.title}: {memory.use}; {memory.needs}"
    lines = [_HEADINGS, *_rows(memory), *_loose_rows(memory.loose, memory.space)]
    if memory.space.rows == 1:
        lines = [line[1:] for line in lines]
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    for line in lines:
        yield "  " + "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
    count = len(memory.loose)
    if count:
        yield f"  {count} tile{'' if count == 1 else 's'} without an address: the compiler places them"


def _rows(memory: Memory) -> Iterator[tuple[str, ...]]:
    gaps = list(memory.gaps()) if memory.places else []
    for place in memory.places:
        while gaps and gaps[0][1] <= place.first:
            yield from _gap(memory.space, *gaps.pop(0))
        yield _row(memory, place)
    for gap in gaps:
        yield from _gap(memory.space, *gap)


def _gap(space: Space, first: int, end: int) -> Iterator[tuple[str, ...]]:
    """A gap as a row; where a memory has banks, one for each part of a bank, whole banks together."""
    while first < end:
        stop = end
        if space.bank:
            bank_end = (first // space.bank + 1) * space.bank
            whole = first % space.bank == 0 and end >= bank_end
            stop = max(end // space.bank * space.bank, bank_end) if whole else min(bank_end, end)
        yield "", _bytes(space, first, stop - first), "free", f"{stop - first}", "", ""
        first = stop


def _row(memory: Memory, place: Place) -> tuple[str, ...]:
    first, partition, partitions, nbytes = place.where
    types = dict.fromkeys(tile.dtype for tile in place.tiles)
    lines = dict.fromkeys(f"{os.path.basename(tile.file)}:{tile.line}" for tile in place.tiles)
    return (
        f"{partition}-{partition + partitions - 1}",
        _bytes(memory.space, first, nbytes),
        _sharing(place),
        _size(memory.space, partitions, nbytes),
        " ".join(types),
        " ".join(lines),
    )


def _sharing(place: Place) -> str:
    """The tiles of a place, whether they take turns, and what overlaps it."""
    text = place.label
    if len(place.tiles) > 1:
        text += " AT ONCE" if place.at_once else " in turns"
    if place.overlaps:
        text += f", overlaps {labels(place.overlaps)}"
    return text if place.used else f"{text} (not used)"


def _bytes(space: Space, first: int, nbytes: int) -> str:
    last = first + max(nbytes, 1) - 1
    if not space.bank:
        return f"{first}-{last}"
    bank, end_bank = first // space.bank, last // space.bank
    if end_bank > bank:
        return f"banks {bank}-{end_bank}"
    return f"bank {bank}: {first % space.bank}-{last % space.bank}"


def _size(space: Space, rows: int, nbytes: int) -> str:
    return f"{rows} x {nbytes}" if space.rows > 1 else str(nbytes)


def _loose_rows(tiles: Sequence[TileRow], space: Space) -> Iterator[tuple[str, ...]]:
    """One row for the tiles of one declaration."""
    grouped: dict[tuple[object, ...], list[TileRow]] = {}
    for tile in tiles:
        key = (tile.tensor, tile.file, tile.line, tile.partitions, tile.nbytes, tile.dtype)
        grouped.setdefault(key, []).append(tile)
    for group in grouped.values():
        tile = group[0]
        place = f"{os.path.basename(tile.file)}:{tile.line}"
        yield "-", "-", labels(group), _size(space, tile.partitions, tile.nbytes), tile.dtype, place


def hazard_lines(hazards: Sequence[Hazard]) -> Iterator[str]:
    """Each hazard with its two places in the source, the later one last."""
    for hazard in hazards:
        times = f" ({hazard.count} times)" if hazard.count > 1 else ""
        yield f"hazard [{hazard.kind}]: {hazard.message}{times}"
        for place in dict.fromkeys((hazard.first, hazard.second)):
            yield f"  {os.path.relpath(place.file)}:{place.line}: {place.what}"
        yield f"  help: {hazard.help}"
