"""The operands level, on events that the emulator's own machine records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from nki_migrate.runtime import isa
from nki_migrate.runtime.compare import Permitted, Run, Verdict, compare_operands, trace_of
from nki_migrate.runtime.compare.operands import UNPINNED
from nki_migrate.runtime.compare.trace import dtype_named
from nki_migrate.runtime.machine import Machine
from nki_migrate.runtime.memory import Allocation, View, view_of
from nki_migrate.runtime.spec.hardware import TARGETS

F32 = np.dtype(np.float32)


class Bench:
    """A machine with short names for declarations and instructions: a kernel without a front end."""

    def __init__(self) -> None:
        self.machine = Machine(TARGETS["gen3"], record=True)
        self.x = self.hbm("x", "input")
        self.y = self.hbm("y", "input")
        self.out = self.hbm("out", "output")
        self.out.output = 0

    def hbm(self, name: str, role: str, shape: tuple[int, ...] = (4, 128, 64)) -> Allocation:
        array = np.arange(np.prod(shape), dtype=F32).reshape(shape)
        return self.machine.allocate_hbm(array, name=name, role=role)

    def tile(
        self,
        name: str = "t",
        address: int | None = None,
        shape: tuple[int, ...] = (128, 64),
        block: tuple[int, ...] = (),
        space: str = "sbuf",
        dtype: np.dtype[Any] = F32,
    ) -> Allocation:
        where = None if address is None else (0, address)
        return self.machine.allocate(space, shape, dtype, name=name, block=block, address=where)

    def copy(self, dst: Allocation, src: Allocation, at: object = ..., of: object = ..., op: str = "") -> None:
        """``dst[at] = src[of]``, by DMA where DMA reads ``src``."""
        op = op or ("tensor_copy" if src.space == "psum" else "dma_copy")
        isa.commit(self.machine, isa.copy(op, _view(src, of)), _view(dst, at))

    def add(self, dst: Allocation, a: Allocation, b: Allocation, op: str = "add") -> None:
        isa.commit(self.machine, isa.tensor_tensor(_view(a), _view(b), op), _view(dst))

    def clear(self, dst: Allocation, value: float = 0.0) -> None:
        isa.commit(self.machine, isa.memset(dst.shape, value, dst.dtype), _view(dst))

    def matmul(self, dst: Allocation, a: Allocation, b: Allocation, accumulate: bool | None = None) -> None:
        isa.commit(self.machine, isa.matmul(_view(a), _view(b)), _view(dst), accumulate=accumulate)

    def run(self) -> Run:
        return Run((), (trace_of(self.machine),))


def _view(alloc: Allocation, at: object = ...) -> View:
    return view_of(alloc, alloc.array()[at])


def record(kernel: Callable[[Bench], None]) -> Run:
    bench = Bench()
    kernel(bench)
    return bench.run()


def compared(old: Callable[[Bench], None], new: Callable[[Bench], None], *permitted: Permitted) -> tuple[Verdict, str]:
    """The verdict and the first message."""
    verdict = compare_operands(record(old), record(new), permitted=permitted)
    return verdict.verdict, verdict.differences[0].message if verdict.differences else ""


# --- one kernel, spelled in several ways: copies planes of x through tiles -------------------------------------------


def blocks(b: Bench) -> None:
    tiles = [b.tile(block=(i,)) for i in range(4)]
    for i in range(4):
        b.copy(tiles[i], b.x, of=i)
        b.copy(b.out, tiles[i], at=i)


def loop(b: Bench) -> None:
    for i in range(4):
        tile = b.tile()
        b.copy(tile, b.x, of=i)
        b.copy(b.out, tile, at=i)


def fold(b: Bench) -> None:
    tile = b.tile(shape=(128, 4, 64))
    for i in range(4):
        b.copy(tile, b.x, at=np.s_[:, i], of=i)
        b.copy(b.out, tile, at=i, of=np.s_[:, i])


def one_tile_for_all(b: Bench) -> None:
    tile = b.tile()
    for i in range(4):
        b.copy(tile, b.x, of=i)
        b.copy(b.out, tile, at=i)


@pytest.mark.parametrize("old", [blocks, loop, fold])
@pytest.mark.parametrize("new", [blocks, loop, fold])
def test_spellings_of_tiles_without_an_address_correspond(
    old: Callable[[Bench], None], new: Callable[[Bench], None]
) -> None:
    assert compared(old, new) == (Verdict.EQUAL, "")


@pytest.mark.parametrize("old", [blocks, loop, fold])
def test_one_tile_for_all_iterations_is_told_from_a_tile_for_each(old: Callable[[Bench], None]) -> None:
    verdict, message = compared(old, one_tile_for_all)
    assert verdict is Verdict.DIFFERENT
    assert "which stands for two tiles" in message or "another size" in message or "another byte" in message


def test_a_tile_declared_again_may_move_on_when_it_is_overwritten_as_a_whole() -> None:
    assert compared(one_tile_for_all, loop) == (Verdict.EQUAL, "")


def test_a_tile_declared_again_may_not_move_on_by_halves() -> None:
    def halves(b: Bench, declare_again: bool) -> None:
        tile = b.tile()
        for i in range(2):
            if declare_again and i:
                tile = b.tile()
            for half in (np.s_[:, :32], np.s_[:, 32:]):
                b.copy(tile, b.x, at=half, of=(i, *half))
            b.copy(b.out, tile, at=i)

    verdict, message = compared(lambda b: halves(b, False), lambda b: halves(b, True))
    assert (verdict, message) == (
        Verdict.DIFFERENT,
        "instruction 4, dma_copy: 'dst' is in 't', but 't' stood for 't' so far",
    )


def test_a_tile_that_was_replaced_does_not_come_back() -> None:
    def replaced(b: Bench, last: int) -> None:
        tiles = [b.tile(f"t{i}") for i in range(2)]
        for i in range(2):
            b.copy(tiles[i], b.x, of=i)
        b.copy(b.out, tiles[last], at=0)

    def single(b: Bench) -> None:
        tile = b.tile()
        for i in range(2):
            b.copy(tile, b.x, of=i)
        b.copy(b.out, tile, at=0)

    assert compared(single, lambda b: replaced(b, 1)) == (Verdict.EQUAL, "")
    verdict, message = compared(single, lambda b: replaced(b, 0))
    assert verdict is Verdict.DIFFERENT
    assert message.endswith("'src' is 't0', which another tile has replaced")


@pytest.mark.parametrize("addresses", [(None, None, None), (0, 256, 512)])
def test_swapped_operands_are_caught(addresses: tuple[int | None, ...]) -> None:
    def difference(b: Bench, swap: bool) -> None:
        a, c, d = (b.tile(name, address) for name, address in zip("acd", addresses, strict=True))
        b.copy(a, b.x, of=0)
        b.copy(c, b.y, of=0)
        b.add(d, *((c, a) if swap else (a, c)), op="subtract")
        b.copy(b.out, d, at=0)

    assert compared(lambda b: difference(b, False), lambda b: difference(b, False)) == (Verdict.EQUAL, "")
    verdict, message = compared(lambda b: difference(b, False), lambda b: difference(b, True))
    assert verdict is Verdict.DIFFERENT
    assert message.startswith("instruction 3, tensor_tensor: 'data1' is ")


def test_swapped_inputs_are_caught_by_their_parameter_names() -> None:
    def from_input(name: str) -> Callable[[Bench], None]:
        return lambda b: b.copy(b.tile(), getattr(b, name), of=0)

    assert compared(from_input("x"), from_input("y")) == (
        Verdict.DIFFERENT,
        "instruction 1, dma_copy: 'src' is the input tensor 'y', not the input tensor 'x'",
    )


def test_an_accumulator_that_sinks_into_the_loop_is_caught_even_at_the_same_address() -> None:
    def total(b: Bench, sunk: bool) -> None:
        acc, part = b.tile("acc", 0), b.tile("part", 256)
        b.clear(acc)
        for i in range(2):
            if sunk:
                acc = b.tile("acc", 0)
            b.copy(part, b.x, of=i)
            b.add(acc, acc, part)
        b.copy(b.out, acc, at=0)

    verdict, message = compared(lambda b: total(b, False), lambda b: total(b, True))
    assert verdict is Verdict.DIFFERENT
    assert message == (
        "instruction 3, tensor_tensor: 'data1' is read before anything was written to it since its declaration"
    )


def product(b: Bench, declared_in_loop: bool, accumulate: bool | None) -> None:
    a, c, total = b.tile("a", shape=(128, 64)), b.tile("c"), b.tile("total", shape=(64, 64), space="psum")
    s = b.tile("s", shape=(64, 64))
    b.copy(a, b.x, of=0)
    b.copy(c, b.x, of=1)
    for _ in range(2):
        if declared_in_loop:
            total = b.tile("total", shape=(64, 64), space="psum")
        b.matmul(total, a, c, accumulate)
    b.copy(s, total, op="tensor_copy")
    b.copy(b.out, s, at=(0, np.s_[:64]))


def test_accumulation_is_what_happened_not_how_it_was_asked_for() -> None:
    assert compared(lambda b: product(b, False, True), lambda b: product(b, False, None))[0] is Verdict.EQUAL
    overwritten = lambda b: product(b, False, False)  # noqa: E731
    assert compared(overwritten, lambda b: product(b, True, None))[0] is Verdict.EQUAL


def test_a_missing_accumulation_is_caught() -> None:
    for after in (lambda b: product(b, False, False), lambda b: product(b, True, None)):
        assert compared(lambda b: product(b, False, None), after) == (
            Verdict.DIFFERENT,
            "instruction 4, nc_matmul, has another 'accumulate'",
        )


def test_pinned_and_not_pinned_do_not_correspond() -> None:
    message = "instruction 1, memset: 'dst' has an address on one side only"
    assert compared(lambda b: b.clear(b.tile("t", 0)), lambda b: b.clear(b.tile("t"))) == (Verdict.DIFFERENT, message)


def test_outputs_correspond_by_position() -> None:
    def returns(b: Bench, first: int) -> None:
        second = b.hbm("second", "output")
        b.out.output, second.output = first, 1 - first
        tile = b.tile()
        b.copy(tile, b.x, of=0)
        b.copy(b.out, tile, at=0)

    verdict, message = compared(lambda b: returns(b, 0), lambda b: returns(b, 1))
    assert (verdict, message) == (Verdict.DIFFERENT, "instruction 2, dma_copy: 'dst' is output 1, not output 0")


def test_constants_correspond_by_content_whatever_their_type() -> None:
    def identity(b: Bench, dtype: str, size: int = 64) -> None:
        array = np.eye(64, dtype=dtype) * (size == 64)
        constant = b.machine.allocate_hbm(array, name=f"identity_{dtype}", role="constant")
        tile = b.tile(shape=(64, 64))
        b.copy(tile, constant)

    assert compared(lambda b: identity(b, "int8"), lambda b: identity(b, "float32")) == (Verdict.EQUAL, "")
    assert compared(lambda b: identity(b, "int8"), lambda b: identity(b, "int8", 0))[0] is Verdict.DIFFERENT


def test_scratch_tensors_correspond_one_to_one() -> None:
    def through_hbm(b: Bench, shared: bool) -> None:
        scratch = [b.hbm(f"s{i}", "scratch", (128, 64)) for i in range(2)]
        for i in range(2):
            tile, memory = b.tile(), scratch[0 if shared else i]
            b.copy(tile, b.x, of=i)
            b.copy(memory, tile)

    assert compared(lambda b: through_hbm(b, False), lambda b: through_hbm(b, False)) == (Verdict.EQUAL, "")
    assert compared(lambda b: through_hbm(b, False), lambda b: through_hbm(b, True))[0] is Verdict.DIFFERENT


def test_a_tile_that_is_too_large_is_caught_although_nothing_else_shows_it() -> None:
    def half_used(b: Bench) -> None:
        tile = b.tile(shape=(128, 2, 64))
        b.copy(tile, b.x, at=np.s_[:, 0], of=0)
        b.copy(b.out, tile, at=0, of=np.s_[:, 0])

    def fitting(b: Bench) -> None:
        tile = b.tile()
        b.copy(tile, b.x, of=0)
        b.copy(b.out, tile, at=0)

    assert compared(fitting, half_used) == (Verdict.DIFFERENT, "'t' and 't' have different sizes")


def test_a_missing_and_an_added_instruction_are_counted() -> None:
    def clears(n: int) -> Callable[[Bench], None]:
        return lambda b: [b.clear(t) for t in [b.tile()] for _ in range(n)] and None

    assert compared(clears(3), clears(1))[1] == "the old kernel has 2 instructions more than the new one"
    assert compared(clears(1), clears(3))[1] == "the new kernel has 2 instructions more than the old one"


def test_a_difference_without_any_address_says_that_the_level_is_not_demanded() -> None:
    def twice(b: Bench, address: int | None, n: int) -> None:
        tile = b.tile("t", address)
        for _ in range(n):
            b.clear(tile)

    def notes(*addresses: int | None) -> tuple[str, ...]:
        old, new = (record(lambda b, a=a, n=n: twice(b, a, n)) for n, a in enumerate(addresses, 1))
        return compare_operands(old, new).notes

    assert notes(None, None) == (UNPINNED,)
    assert notes(0, 0) == notes(None, 0) == notes(0, None) == ()


def test_an_added_copy_is_different_unless_it_is_permitted_and_then_it_is_listed() -> None:
    def stored(b: Bench, through_sbuf: bool, stale: bool = False) -> None:
        a, c, total = b.tile("a"), b.tile("c"), b.tile("total", 0, shape=(64, 64), space="psum")
        b.copy(a, b.x, of=0)
        b.copy(c, b.x, of=1)
        b.matmul(total, a, c)
        source = total
        if through_sbuf:
            source = b.tile("staged", shape=(64, 64))
            b.copy(source, total, op="tensor_copy")
        if stale:
            b.clear(total)
        b.copy(b.out, source, at=(0, np.s_[:64]), op="activation")  # whatever reads both memories

    reason = Permitted("tensor_copy", "DMA does not read PSUM")
    old, new = record(lambda b: stored(b, False)), record(lambda b: stored(b, True))
    assert compare_operands(old, new).verdict is Verdict.DIFFERENT
    verdict = compare_operands(old, new, permitted=[reason])
    assert verdict.verdict is Verdict.EQUAL
    assert verdict.notes == ("1 tensor_copy more after, permitted: DMA does not read PSUM",)
    assert compared(lambda b: stored(b, False, True), lambda b: stored(b, True, True), reason)[0] is Verdict.DIFFERENT
    assert compare_operands(new, old, permitted=[reason]).verdict is Verdict.DIFFERENT


def accumulated(zeros: str, read: bool = False, value: float = 0.0) -> Callable[[Bench], None]:
    """A kernel that accumulates two matmuls in each of the PSUM tiles ``a`` and ``b``; ``zeros``: those to clear."""

    def kernel(b: Bench) -> None:
        left, right = b.tile("left"), b.tile("right")
        b.copy(left, b.x, of=0)
        b.copy(right, b.x, of=1)
        totals = {name: b.tile(name, shape=(64, 64), space="psum") for name in "ab"}
        for name in zeros:
            b.clear(totals[name], value)
        for total in totals.values():
            if read:
                b.copy(b.out, total, at=(1, np.s_[:64]))
            b.matmul(total, left, right)
            b.matmul(total, left, right, accumulate=True)
            b.copy(b.out, total, at=(0, np.s_[:64]))

    return kernel


@pytest.mark.parametrize(("old", "new", "note"), [("ab", "", 2), ("ab", "b", 1), ("ab", "a", 1), ("", "b", -1)])
def test_zeros_that_a_matmul_overwrites_may_be_missing(old: str, new: str, note: int) -> None:
    verdict = compare_operands(record(accumulated(old)), record(accumulated(new)))
    assert verdict.verdict is Verdict.EQUAL, verdict
    amount = f"{abs(note)} memset {'fewer' if note > 0 else 'more'} after"
    assert verdict.notes == (f"{amount}: zeros in PSUM that the first matmul into the tile overwrites",)


def test_zeros_that_are_read_and_other_numbers_may_not_be_missing() -> None:
    assert compare_operands(record(accumulated("ab", read=True)), record(accumulated("a"))).differences
    assert compare_operands(record(accumulated("ab", value=1.0)), record(accumulated(""))).differences
    assert not compare_operands(record(accumulated("ab")), record(accumulated("ab"))).notes


def test_the_first_divergence_names_both_lines_and_both_addresses() -> None:
    def clear_at(address: int) -> Callable[[Bench], None]:
        return lambda b: b.clear(b.tile("t", address))

    difference = compare_operands(record(clear_at(0)), record(clear_at(4096))).differences[0]
    assert difference.before is not None and difference.after is not None
    assert difference.message == "instruction 1, memset: 'dst' is at another address"
    assert difference.before.what == "t sbuf partition 0 byte 0 [128 x 64] steps (1p+0, 0p+4) float32"
    assert difference.after.what == "t sbuf partition 0 byte 4096 [128 x 64] steps (1p+0, 0p+4) float32"
    assert difference.before.file.endswith("test_compare_operands.py") and difference.before.line > 0


BF16 = dtype_named("bfloat16")


def placed(
    b: Bench,
    *,
    own: bool,
    dtypes: tuple[object, object] = (F32, F32),
    address: int | None = None,
    again: bool = False,
    between: bool = False,
    moves: bool = False,
) -> None:
    """A result in a part of a tile, computed there or in a tile of its ``own`` type that is copied there."""
    a, total = b.tile("a", dtype=dtypes[0] if moves else F32), b.tile("total", shape=(128, 128), dtype=dtypes[1])
    b.copy(a, b.x, of=0)
    result = _view(total, np.s_[:, :64])
    if own:
        tile = b.tile("own", address, dtype=dtypes[0])
        result = _view(tile)
    made = isa.copy("tensor_copy", _view(a)) if moves else isa.tensor_tensor(_view(a), _view(a), "add")
    isa.commit(b.machine, made, result)
    if between:
        b.copy(b.out, a, at=1, op="activation")
    if own:
        isa.commit(b.machine, isa.copy("tensor_copy", result), _view(total, np.s_[:, :64]))
    if not between:
        b.copy(b.out, a, at=1, op="activation")
    if again:
        isa.commit(b.machine, isa.copy("tensor_copy", result), _view(total, np.s_[:, 64:]))
    b.copy(b.out, total, at=0, of=np.s_[:, :64], op="activation")


def test_a_result_that_is_copied_to_its_place_is_computed_there() -> None:
    verdict = compare_operands(record(lambda b: placed(b, own=False)), record(lambda b: placed(b, own=True)))
    assert verdict.verdict is Verdict.EQUAL, verdict
    assert "1 tensor_copy more after: of a result that is computed into a tile of its type, by NKI021" in verdict.notes
    both = record(lambda b: placed(b, own=True))
    assert compare_operands(both, both).verdict is Verdict.EQUAL
    assert compare_operands(both, record(lambda b: placed(b, own=False))).verdict is Verdict.DIFFERENT


@pytest.mark.parametrize(
    "wrong",
    [{"dtypes": (BF16, F32)}, {"address": 0}, {"again": True}, {"between": True}],
    ids=["rounded", "pinned", "used again", "not at once"],
)
def test_a_result_that_is_copied_is_of_its_place_s_type_in_a_tile_of_its_own(wrong: dict[str, object]) -> None:
    old = {key: value for key, value in wrong.items() if key == "dtypes"}
    verdict, message = compared(
        lambda b: placed(b, own=False, **old),  # type: ignore[arg-type]
        lambda b: placed(b, own=True, **wrong),  # type: ignore[arg-type]
    )
    assert verdict is Verdict.DIFFERENT, message


def test_a_float32_holds_what_is_computed_and_the_copy_rounds_it() -> None:
    wide, narrow = {"dtypes": (F32, BF16)}, {"own": False, "dtypes": (F32, BF16)}
    assert compared(lambda b: placed(b, **narrow), lambda b: placed(b, own=True, **wide)) == (Verdict.EQUAL, "")


def test_a_move_that_is_converted_after_it_is_converted_by_it() -> None:
    def kernel(b: Bench, own: bool) -> None:
        placed(b, own=own, dtypes=(BF16, F32), moves=True)

    assert compared(lambda b: kernel(b, False), lambda b: kernel(b, True)) == (Verdict.EQUAL, "")


# --- x = op(x): the new kernel computes in place -------------------------------------------------------------------


def summed(b: Bench, in_place: bool, read_again: bool = False, scan: bool = False, written: bool = False) -> None:
    first, other, last = b.tile("first"), b.tile("other"), b.tile("last")
    b.copy(first, b.x, of=0)
    b.copy(other, b.y, of=0)
    if written:
        b.clear(last)
    result = first if in_place else last
    if scan:
        scanned = isa.tensor_tensor_scan(_view(first), _view(other), 0.0, "multiply", "add")
        isa.commit(b.machine, scanned, _view(result))
    else:
        b.add(result, first, other)
    b.copy(b.out, result, at=0)
    if read_again:
        b.copy(b.out, first, at=1)


def test_a_result_may_overwrite_what_is_read_no_more() -> None:
    verdict = compare_operands(record(lambda b: summed(b, False)), record(lambda b: summed(b, True)))
    assert verdict.verdict is Verdict.EQUAL
    assert "1 results in the tile that was read last" in verdict.notes[0]


@pytest.mark.parametrize("options", [{"read_again": True}, {"scan": True}, {"written": True}])
def test_no_other_result_may(options: dict[str, bool]) -> None:
    verdict, message = compared(lambda b: summed(b, False, **options), lambda b: summed(b, True, **options))
    assert verdict is Verdict.DIFFERENT and message


def test_a_result_of_its_own_is_no_result_in_place() -> None:
    assert compared(lambda b: summed(b, True), lambda b: summed(b, False))[0] is Verdict.DIFFERENT
