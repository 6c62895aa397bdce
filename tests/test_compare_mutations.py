"""The checker is checked: a correct migration is damaged in hundreds of ways, and every one must be caught.

The damage is done to what a run leaves behind (tiles, instructions, outputs), once for a kernel whose tiles have
addresses and once for the same kernel without. Each kind of damage names the level that must catch it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from nki_migrate.runtime import isa
from nki_migrate.runtime.compare import (
    Packed,
    Program,
    Run,
    TileRow,
    Verdict,
    compare_layout,
    compare_numbers,
    compare_operands,
    trace_of,
)
from nki_migrate.runtime.events import Event, Operand
from nki_migrate.runtime.machine import Machine
from nki_migrate.runtime.memory import View, view_of
from nki_migrate.runtime.spec.hardware import TARGETS

F32 = np.dtype(np.float32)
TILES, WIDTH = 4, 64
COMPARISONS = {"layout": compare_layout, "operands": compare_operands, "numbers": compare_numbers}


def products(pinned: bool) -> Run:
    """``out[i] = 2 * (x[0].T @ y + x[1].T @ y) - x[i]``: double buffers, an accumulation, a scaled difference."""
    machine = Machine(TARGETS["gen3"], record=True)
    x = machine.allocate_hbm(
        np.arange(TILES * 128 * WIDTH, dtype=F32).reshape(TILES, 128, WIDTH), name="x", role="input"
    )
    y = machine.allocate_hbm(np.ones((128, WIDTH), F32), name="y", role="input")
    out = machine.allocate_hbm(np.zeros((TILES, WIDTH, WIDTH), F32), name="out", role="output")
    out.output = 0

    def tile(name: str, byte: int, block: tuple[int, ...] = (), space: str = "sbuf", rows: int = 128) -> View:
        address = (0, byte) if pinned else None
        alloc = machine.allocate(space, (rows, WIDTH), F32, name=name, block=block, address=address)
        return view_of(alloc, alloc.array())

    def hbm(allocation, at: object = ...) -> View:  # type: ignore[no-untyped-def]
        return view_of(allocation, allocation.array()[at])

    def rows(view: View) -> View:
        return view_of(view.alloc, view.array[:WIDTH])

    size = WIDTH * 4
    right = tile("right", 0)
    left = [tile("left", size + size * (i % 2), (i,)) for i in range(TILES)]
    total = tile("total", 2048, space="psum", rows=WIDTH)
    doubled, result = tile("doubled", 8 * size, rows=WIDTH), tile("result", 9 * size, rows=WIDTH)
    isa.commit(machine, isa.copy("dma_copy", hbm(y)), right)
    for i in range(TILES):
        isa.commit(machine, isa.copy("dma_copy", hbm(x, i)), left[i])
        if i < 2:
            isa.commit(machine, isa.matmul(left[i], right), total)
        isa.commit(machine, isa.tensor_scalar(total, "multiply", 2.0), doubled)
        isa.commit(machine, isa.tensor_tensor(doubled, rows(left[i]), "subtract"), result)
        isa.commit(machine, isa.copy("dma_copy", result), hbm(out, i))
    return Run((Packed.of(out.array()),), (trace_of(machine),))


Damage = tuple[str, Run]


def with_tiles(run: Run, tiles: list[TileRow]) -> Run:
    return replace(run, programs=(replace(run.programs[0], tiles=tuple(tiles)),))


def with_events(run: Run, events: list[Event]) -> Run:
    return replace(run, programs=(replace(run.programs[0], events=tuple(events)),))


def damaged_tiles(run: Run) -> Iterator[Damage]:
    """Damage to the layout: every tile moved, resized, retyped, unpinned; dropped, doubled, exchanged."""
    tiles = list(run.programs[0].tiles)
    for n, row in enumerate(tiles):
        assert row.byte is not None and row.partition is not None
        others = {
            "one tile further": replace(row, byte=row.byte + row.nbytes),
            "one byte further": replace(row, byte=row.byte + 1),
            "another partition": replace(row, partition=row.partition + 32),
            "the other memory": replace(row, space="psum" if row.space == "sbuf" else "sbuf"),
            "half as large": replace(row, nbytes=row.nbytes // 2),
            "fewer partitions": replace(row, partitions=row.partitions // 2),
            "another type": replace(row, dtype="int32"),
            "no address": replace(row, partition=None, byte=None),
        }
        for kind, damaged in others.items():
            yield f"{row.label}: {kind}", with_tiles(run, [*tiles[:n], damaged, *tiles[n + 1 :]])
        yield f"{row.label}: dropped", with_tiles(run, tiles[:n] + tiles[n + 1 :])
    left = [row for row in tiles if row.tensor == "left"]
    size = left[0].nbytes
    for n in (1, TILES):
        moved = {row.uid: replace(row, byte=size + size * (row.block[0] % n)) for row in left}
        yield f"left: modulo {n} instead of 2", with_tiles(run, [moved.get(row.uid, row) for row in tiles])
    swapped = {row.uid: replace(row, byte=left[(k + 1) % TILES].byte) for k, row in enumerate(left)}
    yield "left: buffers exchanged", with_tiles(run, [swapped.get(row.uid, row) for row in tiles])


def damaged_events(run: Run) -> Iterator[Damage]:
    """Damage to the instruction stream: every instruction and every operand."""
    events = list(run.programs[0].events)
    for n, event in enumerate(events):
        before, behind = events[:n], events[n + 1 :]
        name = f"instruction {n + 1}, {event.op}"
        yield f"{name}: dropped", with_events(run, before + behind)
        yield f"{name}: twice", with_events(run, [*before, event, event, *behind])
        yield f"{name}: another instruction", with_events(run, [*before, replace(event, op="activation"), *behind])
        if behind:
            yield f"{name}: after the next", with_events(run, [*before, behind[0], event, *behind[1:]])
        for changed in damaged_attributes(event):
            yield f"{name}: {changed.attributes}", with_events(run, [*before, changed, *behind])
        for kind, operands in damaged_operands(event, run.programs[0]):
            yield f"{name}: {kind}", with_events(run, [*before, replace(event, operands=operands), *behind])


def damaged_attributes(event: Event) -> Iterator[Event]:
    for n, (key, value) in enumerate(event.attributes):
        others = (*event.attributes[:n], *event.attributes[n + 1 :])
        yield replace(event, attributes=others)
        other = (not value) if isinstance(value, bool) else (value + 1 if isinstance(value, float) else "add")
        yield replace(event, attributes=(*others, (key, other)))
    yield replace(event, attributes=(*event.attributes, ("negate", True)))


def damaged_operands(event: Event, program: Program) -> Iterator[tuple[str, tuple[Operand, ...]]]:
    operands = event.operands
    for n, o in enumerate(operands):

        def changed(**facts: object) -> tuple[Operand, ...]:
            return (*operands[:n], replace(o, **facts), *operands[n + 1 :])  # noqa: B023

        unit = 1 if o.space == "hbm" else 4
        yield f"{o.role} one element further", changed(byte=o.byte + unit)
        yield f"{o.role} one row further", changed(byte=o.byte + unit * WIDTH)
        yield f"{o.role} as another type", changed(dtype="int32")
        yield f"{o.role} in the other memory", changed(space="psum" if o.space == "sbuf" else "sbuf")
        yield f"{o.role} shorter", changed(steps=(*o.steps[:-1], (*o.steps[-1][:2], o.steps[-1][2] - 1)))
        yield f"{o.role} wider steps", changed(
            steps=(*o.steps[:-1], (o.steps[-1][0], 2 * o.steps[-1][1], o.steps[-1][2]))
        )
        if o.space != "hbm":
            yield f"{o.role} at another partition", changed(partition=o.partition + 32)
            yield f"{o.role} {'not ' if o.pinned else ''}pinned", changed(pinned=not o.pinned)
        for other in other_owners(o, program):
            yield f"{o.role} is {other}", changed(**other)
    for a in range(len(operands)):
        for b in range(a):
            roles = {operands[a].role: operands[b], operands[b].role: operands[a]}
            exchanged = tuple(replace(roles.get(o.role, o), role=o.role) for o in operands)
            yield f"{operands[a].role} and {operands[b].role} exchanged", exchanged
    yield "an operand less", operands[:-1]


def other_owners(o: Operand, program: Program) -> Iterator[dict[str, int]]:
    """Another tile of the same memory, or another HBM tensor, in the place of ``o``'s own."""
    if o.space == "hbm":
        yield from ({"tile": tensor.uid} for tensor in program.tensors if tensor.uid != o.tile)
        return
    own = next(row for row in program.tiles if row.uid == o.tile)
    for row in program.tiles:
        if row.space != o.space or row.uid == o.tile or (row.byte, row.partitions) == (own.byte, own.partitions):
            continue
        yield {"tile": row.uid, "byte": o.byte + (row.byte or 0) - (own.byte or 0)}


def damaged_numbers(run: Run) -> Iterator[Damage]:
    array = run.outputs[0].array()
    for at in ((0, 0, 0), (TILES - 1, WIDTH - 1, WIDTH - 1)):
        for value in (np.nextafter(array[at], np.float32(np.inf)), np.float32(np.nan), -array[at]):
            changed = array.copy()
            changed[at] = value
            yield f"{at} is {value}", replace(run, outputs=(Packed.of(changed),))
    yield "reshaped", replace(run, outputs=(Packed.of(array.reshape(-1, WIDTH)),))
    yield "transposed", replace(run, outputs=(Packed.of(array.transpose(0, 2, 1)),))
    yield "another type", replace(run, outputs=(Packed.of(array.astype(np.int32)),))
    yield "twice", replace(run, outputs=run.outputs * 2)
    yield "missing", replace(run, outputs=())


ADDRESSES, AUTOMATIC = products(pinned=True), products(pinned=False)


@pytest.mark.parametrize("run", [ADDRESSES, AUTOMATIC], ids=["addresses", "automatic"])
def test_the_undamaged_run_is_equal_at_every_level(run: Run) -> None:
    again = products(pinned=run is ADDRESSES)
    assert {level: compare(run, again).verdict for level, compare in COMPARISONS.items()} == dict.fromkeys(
        COMPARISONS, Verdict.EQUAL
    )


@pytest.mark.parametrize(
    ("level", "run", "damages", "least"),
    [
        ("layout", ADDRESSES, damaged_tiles, 70),
        ("operands", ADDRESSES, damaged_events, 600),
        ("operands", AUTOMATIC, damaged_events, 600),
        ("numbers", ADDRESSES, damaged_numbers, 10),
    ],
    ids=["tiles", "instructions with addresses", "instructions without", "outputs"],
)
def test_every_damage_is_caught_at_its_level(level, run, damages, least) -> None:  # type: ignore[no-untyped-def]
    found = list(damages(run))
    missed = [kind for kind, damaged in found if COMPARISONS[level](run, damaged).verdict is not Verdict.DIFFERENT]
    assert missed == []
    assert len(found) >= least


def test_every_difference_of_an_instruction_says_where_it_is() -> None:
    for kind, damaged in damaged_events(AUTOMATIC):
        (difference,) = compare_operands(AUTOMATIC, damaged).differences
        places = [place for place in (difference.before, difference.after) if place is not None]
        assert places and all(place.file.endswith(".py") and place.line > 0 for place in places), kind
