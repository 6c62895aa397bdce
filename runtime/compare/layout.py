"""The layout level: is every logical tile at the address where it was?

A tensor is the tiles that one variable was assigned, in the order of their declarations. Two spellings of one layout
compare equal: a block tensor, a list of tensors and a tensor declared in a loop give the same sequence of places; a
sequence that visits the same places again (a modulo allocation, a declaration in two loops) and a tensor folded into
the free dimension cover the same places. What is equal only in that second sense must also be accessed at exactly the
same places, else it counts as different.

A new tile in SBUF that no instruction touches stands for no tile: it reserves bytes (padding in front of another tile,
the second of two buffers where there is one block). It is no difference, and a note says where it lies. Nor are rows of
a new folded tensor in SBUF that no old tile has, and no instruction touches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ..events import Step
from ..spec.comparison import other_fields
from .correspondence import TILE
from .excerpts import map_excerpt
from .trace import Program, Run, TileRow
from .verdict import Difference, LevelVerdict, Place, level_verdict

_Address = tuple[str, int, int, int, int, str, tuple[object, ...]]
_Access = tuple[str, int, int, tuple[Step, ...], str]


@dataclass(frozen=True)
class Tensor:
    """The pinned tiles of one variable in declaration order, and every place that instructions touch through them.

    ``others`` is how many tiles of the variable have no address, ``spare`` are the tiles that no instruction touches.
    """

    name: str
    tiles: tuple[TileRow, ...]
    accesses: frozenset[_Access]
    others: int
    spare: tuple[TileRow, ...] = ()

    @property
    def addresses(self) -> tuple[_Address, ...]:
        return tuple(address_of_tile(tile) for tile in self.tiles)

    @property
    def blocks(self) -> tuple[tuple[int, ...], ...]:
        return tuple(tile.block for tile in self.tiles)


def compare_layout(before: Run, after: Run) -> LevelVerdict:
    """The layout verdict of two runs: their pinned tiles, program by program. Tiles without an address are counted."""
    differences: list[Difference] = []
    notes = [f"{side}: {note}" for side, run in (("before", before), ("after", after)) for note in run.notes]
    said_of: dict[tuple[str, ...], list[int]] = {}
    if len(before.programs) != len(after.programs):
        differences.append(
            Difference(f"{len(before.programs)} programs ran before, {len(after.programs)} after: the grids differ")
        )
    for index, (old, new) in enumerate(zip(before.programs, after.programs, strict=False)):
        prefix = f"program {index}: " if len(before.programs) > 1 else ""
        found, said = _compare_programs(old, new)
        differences += [replace(difference, message=prefix + difference.message) for difference in found]
        said_of.setdefault(tuple(said), []).append(index)
    for same, programs in said_of.items():
        where = f"program{'s' if len(programs) > 1 else ''} {_numbers(programs)}: " if len(before.programs) > 1 else ""
        notes += [where + note for note in same]
    return level_verdict("layout", differences, _summary(before, after), notes)


def _numbers(programs: list[int]) -> str:
    """``0 to 5``, or ``0, 2, 5``."""
    first, last = programs[0], programs[-1]
    if last - first > 1 and last - first == len(programs) - 1:
        return f"{first} to {last}"
    return ", ".join(map(str, programs))


def _summary(before: Run, after: Run) -> str:
    counts = []
    for run in (before, after):
        tiles = [tile for program in run.programs for tile in program.tiles]
        pinned = sum(tile.pinned for tile in tiles)
        counts.append((pinned, len(tiles) - pinned))
    if counts[0] == counts[1]:
        return _pinned(*counts[0])
    return f"before {_pinned(*counts[0])}; after {_pinned(*counts[1])}"


def _pinned(pinned: int, others: int) -> str:
    return f"{pinned} tile{'' if pinned == 1 else 's'} pinned, {others} not"


def address_of_tile(tile: TileRow) -> _Address:
    """A pinned tile's space, partition, byte, extent and whatever else no row exempts: what must not change."""
    if tile.partition is None or tile.byte is None:
        raise ValueError(f"{tile.label} has no address")
    others = tuple(getattr(tile, name) for name in other_fields(type(tile), TILE))
    return tile.space, tile.partition, tile.byte, tile.partitions, tile.nbytes, tile.dtype, others


def tensors_of(program: Program) -> dict[str, Tensor]:
    """The tensors of a program that have pinned tiles, by name."""
    owner = {tile.uid: tile.tensor for tile in program.tiles if tile.pinned}
    accesses: dict[str, set[_Access]] = {}
    touched: set[int] = set()
    for event in program.events:
        for o in event.operands:
            if o.tile in owner:
                touched.add(o.tile)
                accesses.setdefault(owner[o.tile], set()).add((o.space, o.partition, o.byte, o.steps, o.dtype))
    tiles: dict[str, list[TileRow]] = {}
    for tile in program.tiles:
        if tile.pinned:
            tiles.setdefault(tile.tensor, []).append(tile)
    others = Counter(tile.tensor for tile in program.tiles if not tile.pinned)
    spare = {n: tuple(t for t in rows if t.uid not in touched and t.space == "sbuf") for n, rows in tiles.items()}
    return {n: Tensor(n, tuple(rows), frozenset(accesses.get(n, ())), others[n], spare[n]) for n, rows in tiles.items()}


def _compare_programs(old: Program, new: Program) -> tuple[list[Difference], list[str]]:
    left, right = tensors_of(old), tensors_of(new)
    notes: list[str] = []
    for name in [name for name in left if name in right]:
        relation = same_layout(left[name], right[name])
        if relation is not None:
            del left[name], right[name]
            notes += [f"'{name}': {relation}"] if relation else []
    for name in list(left):
        for other in list(right):
            relation = same_layout(left[name], right[other])
            if relation is not None:
                del left[name], right[other]
                notes.append(f"'{name}' is '{other}' after" + (f": {relation}" if relation else ""))
                break
    notes += _of_one_line(left, right) + _without_spares(left, right)
    shared = [name for name in left if name in right]
    differences = [_with_maps(_divergence(left.pop(name), right.pop(name)), old, new) for name in shared]
    differences += [_missing(tensor, new, "after") for tensor in left.values()]
    differences += [_missing(tensor, old, "before") for tensor in right.values()]
    return differences, notes


def _of_one_line(left: dict[str, Tensor], right: dict[str, Tensor]) -> list[str]:
    """Take out what one line declares for several variables, as a helper does, and what it is under one name."""
    notes = [f"{several} are '{one}' after" for several, one in _taken_together(left, right)]
    return notes + [f"'{one}' is {several} after" for several, one in _taken_together(right, left)]


def _taken_together(one_side: dict[str, Tensor], other_side: dict[str, Tensor]) -> Iterator[tuple[str, str]]:
    """Take tensors that one line declares out of ``one_side``, and the one that they are out of ``other_side``.

    They are the same tile by tile, which holds both ways.
    """
    for names, whole in _merged(one_side):
        found = next((name for name, tensor in other_side.items() if same_layout(tensor, whole) == ""), None)
        if found is not None:
            del other_side[found]
            for name in names:
                del one_side[name]
            yield whole.name, found


def _merged(tensors: dict[str, Tensor]) -> list[tuple[list[str], Tensor]]:
    """The tensors that one line declares, where it declares several, as one: their tiles in the order of the run."""
    found: dict[tuple[str, int], list[str]] = {}
    for name, tensor in tensors.items():
        lines = {(tile.file, tile.line) for tile in tensor.tiles}
        if len(lines) == 1:
            found.setdefault(lines.pop(), []).append(name)
    merged = []
    for names in found.values():
        parts = [tensors[name] for name in names]
        tiles = sorted((tile for part in parts for tile in part.tiles), key=lambda tile: tile.uid)
        accesses = frozenset().union(*(part.accesses for part in parts))
        called = " and ".join(f"'{name}'" for name in names)
        whole = Tensor(called, tuple(tiles), accesses, sum(part.others for part in parts))
        if len(names) > 1:
            merged.append((names, whole))
    return merged


def _without_spares(left: dict[str, Tensor], right: dict[str, Tensor]) -> list[str]:
    """Take out the tensors that are the same once the new tiles are left out that no instruction touches."""
    notes = []
    for other, new in list(right.items()):
        if not new.spare:
            continue
        where = f"{len(new.spare)} of its tiles only reserve{'s' if len(new.spare) == 1 else ''} {_bytes_of(new.spare)}"
        if len(new.spare) == len(new.tiles) and not new.others:
            if other in left and left[other].tiles:
                continue  # an old tensor of that name has lost its instructions
            del right[other]
            notes.append(f"'{other}' only reserves {_bytes_of(new.spare)}: no instruction touches it")
            continue
        used = replace(new, tiles=tuple(tile for tile in new.tiles if tile not in new.spare), spare=())
        for name, old in sorted(left.items(), key=lambda item: item[0] != other):
            relation = same_layout(old, used)
            if relation is not None:
                del left[name], right[other]
                notes.append(f"'{name}' is '{other}' after: {where}" + (f"; {relation}" if relation else ""))
                break
    return notes


def _bytes_of(tiles: tuple[TileRow, ...]) -> str:
    """``bytes 4 to 31`` of the first tile."""
    first = tiles[0]
    assert first.byte is not None
    return f"bytes {first.byte} to {first.byte + first.nbytes - 1}"


def same_layout(old: Tensor, new: Tensor) -> str | None:
    """``None`` when the layouts differ, ``""`` when they are the same tile by tile, else how their spellings differ."""
    if bool(old.others) != bool(new.others):
        return None
    if old.addresses == new.addresses and _blocks_agree(old, new):
        return ""
    if old.accesses != new.accesses:
        return None
    return _other_spelling(old, new)


def _other_spelling(old: Tensor, new: Tensor) -> str | None:
    """How two tensors cover the same places with different numbers of tiles; ``None`` when they do not."""
    places = _distinct(old), _distinct(new)
    if len(old.tiles) != len(new.tiles) and _repeats(old.addresses, new.addresses):
        return f"declared {len(old.tiles)} times before and {len(new.tiles)} times after, equal as places"
    rows = _rows(places[1], places[0][0][4])
    if sorted(rows) == sorted(places[0]) or sorted(_rows(places[0], places[1][0][4])) == sorted(places[1]):
        return f"{len(places[0])} tiles before, {len(places[1])} after, equal as a folded tensor"
    if old.tiles[0].space == "sbuf" and set(places[0]) <= set(rows):
        reserved = (len(rows) - len(places[0])) * places[0][0][4]
        return f"a folded tensor after, {reserved} bytes of which are only reserved: no instruction touches them"
    return None


def _blocks_agree(old: Tensor, new: Tensor) -> bool:
    """Positions in block tensors and lists are compared where both sides have them, with the same depth."""
    pairs = zip(old.blocks, new.blocks, strict=True)
    return all(a == b for a, b in pairs if a and b and len(a) == len(b))


def _distinct(tensor: Tensor) -> tuple[_Address, ...]:
    return tuple(dict.fromkeys(tensor.addresses))


def _repeats(a: tuple[_Address, ...], b: tuple[_Address, ...]) -> bool:
    """Are both one sequence, repeated differently often? Or is one the list of the places that the other visits?"""
    return _period(a) == _period(b) or a == tuple(dict.fromkeys(b)) or b == tuple(dict.fromkeys(a))


def _period(sequence: tuple[_Address, ...]) -> tuple[_Address, ...]:
    """The shortest sequence that gives ``sequence`` when it is repeated."""
    count = len(sequence)
    for size in range(1, count):
        if count % size == 0 and sequence[:size] * (count // size) == sequence:
            return sequence[:size]
    return sequence


def _rows(folded: tuple[_Address, ...], size: int) -> list[_Address]:
    """The tiles of ``size`` bytes that lie one after the other in folded ones; none where one is no such tensor."""
    rows = []
    for space, partition, byte, partitions, nbytes, dtype, others in folded:
        if not size or nbytes % size or nbytes == size:
            return []
        rows += [(space, partition, byte + at, partitions, size, dtype, others) for at in range(0, nbytes, size)]
    return rows


def _with_maps(divergence: tuple[str, TileRow, TileRow], old: Program, new: Program) -> Difference:
    message, a, b = divergence
    return Difference(message, place_of(a), place_of(b), (map_excerpt(old, a.uid), map_excerpt(new, b.uid)))


def _divergence(old: Tensor, new: Tensor) -> tuple[str, TileRow, TileRow]:
    """The first tile at which two tensors of one name part."""
    if bool(old.others) != bool(new.others):
        message = f"'{old.name}': {old.others} tiles before and {new.others} after have no address"
        return message, old.tiles[-1], new.tiles[-1]
    spelling = _other_spelling(old, new)
    if spelling:
        message = f"'{old.name}': {spelling}, but instructions touch other parts of it"
        return message, old.tiles[0], new.tiles[0]
    for a, b in zip(old.tiles, new.tiles, strict=False):
        if address_of_tile(a) != address_of_tile(b):
            return f"'{a.label}' is at another place", a, b
        if a.block and b.block and len(a.block) == len(b.block) and a.block != b.block:
            return f"'{a.label}' is declared as '{b.label}'", a, b
    return f"'{old.name}' has {len(old.tiles)} tiles before and {len(new.tiles)} after", old.tiles[-1], new.tiles[-1]


def _missing(tensor: Tensor, other: Program, side: str) -> Difference:
    """A tensor that is pinned on one side only."""
    here = place_of(tensor.tiles[0])
    unpinned = next((tile for tile in other.tiles if tile.tensor == tensor.name), None)
    if unpinned is not None and not unpinned.pinned:
        message, there = f"'{tensor.name}' has an address, and none {side}", place_of(unpinned)
    else:
        message, there = f"'{tensor.name}' has no tile at its place {side}", None
    return Difference(message, here, there) if side == "after" else Difference(message, there, here)


def place_of(tile: TileRow) -> Place:
    """A tile's declaration, with its address as a person reads it."""
    extent = f"{tile.partitions} partitions x {tile.nbytes} bytes {tile.dtype}"
    if tile.byte is None:
        return Place(tile.file, tile.line, f"{tile.label} {tile.space} without an address, {extent}")
    bank = f" (bank {tile.bank})" if tile.bank is not None else ""
    return Place(
        tile.file, tile.line, f"{tile.label} {tile.space} partition {tile.partition} byte {tile.byte}{bank}, {extent}"
    )
