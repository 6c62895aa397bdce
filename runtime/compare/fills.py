"""Where tiles are filled: before the loops or in them, block by block or all blocks of a folded tensor at once.

A ``memset`` means the same wherever it stands before the next instruction that touches its bytes, and one over a
tensor the same as one over each of its parts. Where two programs do not run the same instructions in the same order,
they are compared in this normal form. Source: rule NKI010.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ..events import Event, Operand
from .correspondence import covers
from .trace import Program, TileRow, dtype_named


def with_fills_in_place(old: Program, new: Program) -> tuple[Program, Program, int]:
    """Both programs in normal form, and how many instructions fewer the new one has to fill the blocks of tensors."""
    if _order(old) == _order(new):
        return old, new, 0
    blocks = _block_sizes(old)
    tiles = {tile.uid: tile for tile in new.tiles}
    events = [part for event in new.events for part in _parts(event, tiles, blocks)]
    fewer = len(events) - len(new.events)
    return _delayed(old, old.events), _delayed(new, events), fewer


def _order(program: Program) -> list[tuple[object, ...]]:
    """The instructions in order, and of each ``memset`` which part of which tensor it fills."""
    names = {tile.uid: tile.tensor for tile in program.tiles}
    filled = ((event.op, event.operands[0]) for event in program.events)
    return [(op, names.get(dst.tile), dst.steps) if op == "memset" else (op,) for op, dst in filled]


def _block_sizes(program: Program) -> dict[str, int]:
    """The bytes of a tile, per partition, of each name whose tiles have one size."""
    sizes: dict[str, set[int]] = {}
    for tile in program.tiles:
        sizes.setdefault(tile.tensor, set()).add(tile.nbytes)
    return {name: next(iter(found)) for name, found in sizes.items() if len(found) == 1}


def _parts(event: Event, tiles: dict[int, TileRow], blocks: dict[str, int]) -> Iterator[Event]:
    """A ``memset`` of a whole tensor as one for each of its blocks; any other instruction as it is."""
    tile = tiles.get(event.operands[0].tile) if event.op == "memset" else None
    size = blocks.get(tile.tensor, 0) if tile is not None and not event.operands[0].pinned else 0
    if tile is None or not size or tile.nbytes % size or not covers(event.operands[0], tile):
        yield event
        return
    operand, *others = event.operands
    itemsize = dtype_named(operand.dtype).itemsize
    free = ((0, itemsize, size // itemsize),) if size > itemsize else ()
    steps = (*(step for step in operand.steps if step[0]), *free)
    for byte in range(0, tile.nbytes, size):
        yield replace(event, operands=(replace(operand, byte=byte, steps=steps), *others))


def _delayed(program: Program, events: Iterable[Event]) -> Program:
    """The program with each ``memset`` right before the next instruction that touches its bytes."""
    waiting: dict[int, list[Event]] = {}
    ordered: list[Event] = []
    for event in events:
        for operand in event.operands:
            held = waiting.pop(operand.tile, [])
            due = [fill for fill in held if _overlap(fill.operands[0], operand)]
            ordered += due
            if len(due) < len(held):
                waiting[operand.tile] = [fill for fill in held if fill not in due]
        if event.op == "memset" and _may_wait(event.operands[0]):
            waiting.setdefault(event.operands[0].tile, []).append(event)
        else:
            ordered.append(event)
    left = sorted((fill for held in waiting.values() for fill in held), key=lambda fill: fill.sequence)
    return replace(program, events=(*ordered, *left))


def _may_wait(filled: Operand) -> bool:
    """Does nothing but instructions on the same tile touch what a ``memset`` writes?"""
    return filled.exact and not filled.pinned and filled.space != "hbm"


def _overlap(fill: Operand, other: Operand) -> bool:
    """May an operand touch bytes that a ``memset`` writes?"""
    if other.space == "hbm":
        return False
    (first, end), (low, high) = _bytes(fill), _bytes(other)
    return not other.exact or (first < high and low < end)


def _bytes(operand: Operand) -> tuple[int, int]:
    """The first byte of an access, and the one that it ends before, per partition."""
    ways = [step[1] * (step[2] - 1) for step in operand.steps]
    low = operand.byte + sum(way for way in ways if way < 0)
    return low, operand.byte + sum(way for way in ways if way > 0) + dtype_named(operand.dtype).itemsize
