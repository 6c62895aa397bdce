"""A memory that was written as a whole is not marked any more: the same hazards are found as with all marks."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from nki_migrate.runtime.compare.trace import HbmTensor, Program, TileRow
from nki_migrate.runtime.events import Event, Operand
from nki_migrate.runtime.hazards import stale

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
    defined_by = stale._Memory.defined_by
    stale._Memory.defined_by = lambda self, marks: False  # type: ignore[method-assign]
    try:
        assert found == stale.stale_reads(program, shared=False)
    finally:
        stale._Memory.defined_by = defined_by  # type: ignore[method-assign]
