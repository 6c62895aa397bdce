"""The layout level: spellings of one layout are equal, moved tiles are not."""

from __future__ import annotations

from dataclasses import replace

import pytest
from nki_migrate.runtime.compare import Program, Run, TileRow, Verdict, compare_layout
from nki_migrate.runtime.events import Event, Operand


def tile(
    tensor: str,
    byte: int | None,
    *block: int,
    nbytes: int = 1024,
    space: str = "sbuf",
    dtype: str = "float32",
    partition: int = 0,
) -> TileRow:
    where = (None, None) if byte is None else (partition, byte)
    return TileRow(-1, tensor, block, space, *where, 128, nbytes, dtype, "kernel.py", 7)


def run(*tiles: TileRow, accesses: list[tuple[int, int, int]] | None = None) -> Run:
    """A run with ``tiles`` and one instruction for each access (tile, byte, elements); default: all of each tile."""
    rows = tuple(replace(row, uid=uid) for uid, row in enumerate(tiles))
    if accesses is None:
        accesses = [(row.uid, row.byte or 0, row.nbytes // 4) for row in rows]
    events = tuple(
        Event(n, "memset", (_dst(rows[uid], byte, count),), (), "kernel.py", 8)
        for n, (uid, byte, count) in enumerate(accesses)
    )
    return Run((), (Program(rows, (), events),))


def _dst(row: TileRow, byte: int, count: int) -> Operand:
    steps = ((1, 0, 128), (0, 4, count))
    return Operand("dst", row.space, row.uid, row.pinned, row.partition or 0, byte, steps, row.dtype)


FOUR_BLOCKS_ON_TWO = run(*(tile("t", 1024 * (i % 2), i) for i in range(4)))


@pytest.mark.parametrize(
    "after",
    [
        run(*(tile("t", 1024 * (i % 2), i) for i in range(4))),
        run(*(tile("t", 1024 * (i % 2)) for i in range(4))),
    ],
    ids=["list", "declared in the loop"],
)
def test_spellings_with_the_same_sequence_of_places_are_equal(after: Run) -> None:
    verdict = compare_layout(FOUR_BLOCKS_ON_TWO, after)
    assert (verdict.verdict, verdict.notes, verdict.summary) == (Verdict.EQUAL, (), "4 tiles pinned, 0 not")


def test_a_declaration_in_two_loops_is_equal_and_noted() -> None:
    after = run(*(tile("t", 1024 * (i % 2), i % 4) for i in range(8)))
    verdict = compare_layout(FOUR_BLOCKS_ON_TWO, after)
    assert verdict.verdict is Verdict.EQUAL
    assert verdict.notes == ("'t': declared 4 times before and 8 times after, equal as places",)


def test_a_folded_tensor_is_equal_when_it_is_accessed_as_its_blocks_were() -> None:
    before = run(tile("t", 0, 0), tile("t", 1024, 1))
    after = run(tile("t", 0, nbytes=2048), accesses=[(0, 0, 256), (0, 1024, 256)])
    verdict = compare_layout(before, after)
    assert verdict.verdict is Verdict.EQUAL
    assert verdict.notes == ("'t': 2 tiles before, 1 after, equal as a folded tensor",)


def test_a_folded_tensor_may_be_unfolded() -> None:
    before = run(tile("t", 0, nbytes=2048), accesses=[(0, 0, 256), (0, 1024, 256)])
    assert compare_layout(before, run(tile("t", 0, 0), tile("t", 1024, 1))).verdict is Verdict.EQUAL


def test_a_folded_tensor_that_is_accessed_across_its_blocks_is_different() -> None:
    before = run(tile("t", 0, 0), tile("t", 1024, 1))
    after = run(tile("t", 0, nbytes=2048), accesses=[(0, 512, 256), (0, 1024, 256)])
    verdict = compare_layout(before, after)
    assert verdict.verdict is Verdict.DIFFERENT
    assert "instructions touch other parts" in verdict.differences[0].message


def test_a_folded_tensor_may_reserve_tiles_that_fewer_blocks_do_not_take() -> None:
    after = run(tile("t", 0, nbytes=4096), accesses=[(0, 0, 256), (0, 1024, 256)])
    verdict = compare_layout(run(tile("t", 0, 0), tile("t", 1024, 1)), after)
    assert verdict.verdict is Verdict.EQUAL
    assert "2048 bytes of which are only reserved" in verdict.notes[0]


def test_a_folded_tensor_reserves_nothing_that_an_instruction_touches() -> None:
    after = run(tile("t", 0, nbytes=4096), accesses=[(0, 1024 * i, 256) for i in range(3)])
    assert compare_layout(run(tile("t", 0, 0), tile("t", 1024, 1)), after).verdict is Verdict.DIFFERENT


def test_an_old_folded_tensor_does_not_lose_tiles() -> None:
    before = run(tile("t", 0, nbytes=4096), accesses=[(0, 0, 256), (0, 1024, 256)])
    assert compare_layout(before, run(tile("t", 0, 0), tile("t", 1024, 1))).verdict is Verdict.DIFFERENT


def test_a_folded_tensor_with_the_extent_of_all_blocks_is_different_from_a_modulo() -> None:
    after = run(tile("t", 0, nbytes=4096), accesses=[(0, 1024 * i, 256) for i in range(4)])
    assert compare_layout(FOUR_BLOCKS_ON_TWO, after).verdict is Verdict.DIFFERENT


@pytest.mark.parametrize(
    "moved",
    [
        tile("t", 2048, 1),
        tile("t", 1024, 1, partition=32),
        tile("t", 1024, 1, space="psum"),
        tile("t", 1024, 1, nbytes=512),
        tile("t", 1024, 1, dtype="int32"),
        tile("t", None, 1),
        tile("t", 1024, 2),
    ],
    ids=["byte", "partition", "space", "size", "dtype", "no address", "block index"],
)
def test_one_tile_that_moved_is_named_with_both_places(moved: TileRow) -> None:
    before = run(tile("t", 0, 0), tile("t", 1024, 1), tile("u", 4096))
    verdict = compare_layout(before, run(tile("t", 0, 0), replace(moved, line=9), tile("u", 4096)))
    assert (verdict.verdict, verdict.count) == (Verdict.DIFFERENT, 1)
    difference = verdict.differences[0]
    assert difference.before is not None and difference.after is not None
    assert "t[" in difference.before.what and difference.before.line == 7


def test_the_order_of_blocks_counts() -> None:
    before = run(tile("t", 0), tile("t", 1024))
    assert compare_layout(before, run(tile("t", 1024), tile("t", 0))).verdict is Verdict.DIFFERENT


def test_the_order_of_tensors_does_not_count() -> None:
    before = run(tile("t", 0), tile("u", 1024))
    assert compare_layout(before, run(tile("u", 1024), tile("t", 0))).verdict is Verdict.EQUAL


def test_a_renamed_tensor_is_found_by_its_places() -> None:
    before = run(tile("t", 0, 0), tile("t", 1024, 1), tile("u", 4096))
    after = run(tile("tiles", 0, 0), tile("tiles", 1024, 1), tile("u", 4096))
    verdict = compare_layout(before, after)
    assert (verdict.verdict, verdict.notes) == (Verdict.EQUAL, ("'t' is 'tiles' after",))


def test_two_renamed_tensors_with_equal_places_need_two_counterparts() -> None:
    before = run(tile("t", 0), tile("u", 0))
    verdict = compare_layout(before, run(tile("v", 0)))
    assert [d.message for d in verdict.differences] == ["'u' has no tile at its place after"]


def test_a_tensor_of_one_side_only_is_named() -> None:
    before, after = run(tile("t", 0), tile("u", 4096)), run(tile("t", 0), tile("w", 8192))
    messages = [d.message for d in compare_layout(before, after).differences]
    assert messages == ["'u' has no tile at its place after", "'w' has no tile at its place before"]


def test_pinned_on_one_side_only_is_different_both_ways() -> None:
    pinned, loose = run(tile("t", 0)), run(tile("t", None))
    assert [d.message for d in compare_layout(pinned, loose).differences] == ["'t' has an address, and none after"]
    assert [d.message for d in compare_layout(loose, pinned).differences] == ["'t' has an address, and none before"]


def test_tiles_without_an_address_are_counted_and_not_compared() -> None:
    before, after = run(tile("t", 0), tile("a", None), tile("b", None)), run(tile("t", 0), tile("a", None))
    verdict = compare_layout(before, after)
    assert verdict.verdict is Verdict.EQUAL
    assert verdict.summary == "before 1 tile pinned, 2 not; after 1 tile pinned, 1 not"


def test_every_program_of_the_grid_is_compared() -> None:
    program, moved = run(tile("t", 0)).programs[0], run(tile("t", 64)).programs[0]
    verdict = compare_layout(Run((), (program, program)), Run((), (program, moved)))
    assert [d.message for d in verdict.differences] == ["program 1: 't' is at another place"]


def test_another_number_of_programs_is_different() -> None:
    program = run(tile("t", 0)).programs[0]
    assert compare_layout(Run((), (program, program)), Run((), (program,))).verdict is Verdict.DIFFERENT


def test_psum_places_name_the_bank() -> None:
    verdict = compare_layout(run(tile("t", 2048, space="psum")), run(tile("t", 4096, space="psum")))
    assert verdict.differences[0].after is not None
    assert "byte 4096 (bank 2)" in verdict.differences[0].after.what


@pytest.mark.parametrize(
    ("renamed", "programs"),
    [((0, 1, 2), "programs 0 to 2"), ((0, 2), "programs 0, 2"), ((1, 2), "programs 1, 2"), ((1,), "program 1")],
)
def test_what_holds_for_several_programs_is_said_once(renamed: tuple[int, ...], programs: str) -> None:
    same, other = run(tile("t", 0)).programs[0], run(tile("u", 0)).programs[0]
    before = Run((), (same, same, same))
    after = Run((), tuple(other if number in renamed else same for number in range(3)))
    assert compare_layout(before, after).notes == (f"{programs}: 't' is 'u' after",)
