"""What is seen without all marks (a memory that was written as a whole, iterations apart): the same hazards."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nki_migrate.runtime.compare.trace import HbmTensor, Program, TileRow
from nki_migrate.runtime.events import Event, Loop, Operand
from nki_migrate.runtime.hazards import iterations, stale
from nki_migrate.runtime.hazards.shadow import Grid

ROWS, BYTES = 4, 8
TILES = (
    *(TileRow(uid, f"t{uid}", (), "sbuf", None, None, ROWS, BYTES, "uint8", "k.py", 1) for uid in range(3)),
    *(TileRow(uid, f"t{uid}", (), "sbuf", 0, 4 * (uid - 3), ROWS, BYTES, "uint8", "k.py", 1) for uid in (3, 4)),
)
OUT = HbmTensor(9, "out", "output", (ROWS * BYTES,), "uint8", 0, "", "k.py", 1)


@st.composite
def operands(draw: Any, role: str, uid: int) -> Operand:
    rows, count = draw(st.sampled_from([1, 2, ROWS])), draw(st.sampled_from([2, 4, BYTES]))
    partition = draw(st.integers(0, (ROWS - rows) // rows)) * rows
    byte = draw(st.integers(0, (BYTES - count) // count)) * count
    exact = draw(st.sampled_from([True, True, True, False]))
    if uid == OUT.uid:
        return Operand(role, "hbm", uid, False, 0, 0, ((0, 1, rows * count),), "uint8", exact)
    pinned = TILES[uid].byte is not None
    steps = tuple(step for step in ((1, 0, rows), (0, 1, count)) if step[2] > 1)
    return Operand(role, "sbuf", uid, pinned, partition, byte + (TILES[uid].byte or 0), steps, "uint8", exact)


@st.composite
def events(draw: Any, sequence: int) -> Event:
    op = draw(st.sampled_from(["memset", "tensor_copy", "tensor_copy", "tensor_tensor", "dma_copy"]))
    target = OUT.uid if op == "dma_copy" else draw(st.integers(0, len(TILES) - 1))
    dst = draw(operands("dst", target))
    roles = {"memset": (), "tensor_copy": ("src",), "tensor_tensor": ("data1", "data2"), "dma_copy": ("src",)}[op]
    reads = tuple(draw(operands(role, draw(st.integers(0, len(TILES) - 1)))) for role in roles)
    attributes = (("accumulate", True),) if draw(st.integers(0, 5)) == 0 else ()
    return Event(sequence, op, (dst, *reads), attributes, "k.py", sequence)


@st.composite
def programs(draw: Any) -> Program:
    count = draw(st.integers(1, 14))
    return Program(TILES, (OUT,), tuple(draw(events(number + 1)) for number in range(count)))


@given(programs())
@settings(max_examples=100, deadline=None)
def test_the_same_hazards_as_with_all_marks(program: Program) -> None:
    found = stale.stale_reads(program, shared=False)
    defined_by, is_all = stale._Memory.defined_by, Grid.is_all
    stale._Memory.defined_by = lambda self, marks: False  # type: ignore[method-assign]
    Grid.is_all = lambda self, operand: False  # type: ignore[method-assign]
    try:
        assert found == stale.stale_reads(program, shared=False)
    finally:
        stale._Memory.defined_by = defined_by  # type: ignore[method-assign]
        Grid.is_all = is_all  # type: ignore[method-assign]


@st.composite
def loop_events(draw: Any, sequence: int, uid: int) -> Event:
    """An instruction on one tile: one that overwrites, adds, reduces with another operator, or reads."""
    op = draw(st.sampled_from(["nc_matmul", "nc_matmul", "loop_reduce", "tensor_copy", "memset"]))
    dst = draw(operands("dst", uid))
    reads = (draw(operands("src", draw(st.sampled_from([0, 1, 1, 1])))),) if op == "tensor_copy" else ()
    attributes: tuple[tuple[str, Any], ...] = ()
    if op == "nc_matmul":
        attributes = (("accumulate", draw(st.sampled_from([True, True, False]))),)
    elif op == "loop_reduce":
        attributes = (("op", draw(st.sampled_from(["add", "maximum", "subtract"]))),)
        reads = (draw(st.sampled_from([Operand("data1", *_place(dst)), draw(operands("data1", 1))])),)
    restarts = op == "nc_matmul" and draw(st.integers(0, 5)) == 0
    return Event(sequence, op, (dst, *reads), attributes, "k.py", sequence, restarts)


def _place(operand: Operand) -> tuple[Any, ...]:
    fields = "space", "tile", "pinned", "partition", "byte", "steps", "dtype", "exact", "used"
    return tuple(getattr(operand, name) for name in fields)


@st.composite
def loops(draw: Any) -> Program:
    """A loop of two or three iterations on the first tile, and instructions after it."""
    lengths = draw(st.lists(st.integers(0, 3), min_size=2, max_size=3))
    marks = tuple(sum(lengths[:n]) for n in range(len(lengths) + 1))
    count = marks[-1] + draw(st.integers(0, 2))
    shown = tuple(draw(loop_events(number + 1, 0)) for number in range(count))
    return Program(TILES, (OUT,), shown, (Loop("k.py", 1, marks),))


@given(program=loops())
@settings(max_examples=400, deadline=None)
def test_the_same_dependences_as_with_the_marks_of_each_step(program: Program) -> None:
    found = iterations.dependent_iterations(program)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(iterations, "_are_apart", lambda uid, steps: False)
        patch.setattr(iterations, "_only_add", lambda uid, steps: False)
        assert found == iterations.dependent_iterations(program)
