"""What only the chip knows: trip counts, indices that may be out of bounds, and predicates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from nki_migrate.runtime.beta1.modules import MODULES
from nki_migrate.runtime.errors import KernelError, NotModelled

nki, nl, nisa = MODULES["neuronxcc.nki"], MODULES["neuronxcc.nki.language"], MODULES["neuronxcc.nki.isa"]
nt, oob_mode = MODULES["neuronxcc.nki.typing"], MODULES["neuronxcc.nki.isa.constants"].oob_mode
scalar = nt.scalar


def doubled(total: Any, steps: Any, log: list[int]) -> None:
    """A helper whose loop runs on the chip: ``flash_attn_impl.py:270`` of nki-samples."""
    for _ in range(scalar(steps)):
        total[...] = nl.add(total, total)
        log.append(1)


def unrolled(total: Any, log: list[int]) -> None:
    for _ in range(2):
        total[...] = nl.add(total, total)
        log.append(2)


@pytest.mark.parametrize("times", [0, 1, 3])
def test_a_loop_over_a_number_on_the_chip_is_traced_once(times: int) -> None:
    seen: list[list[int]] = []

    @nki.jit
    def kernel(x: Any, count: Any) -> Any:
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        total = nl.load(x)
        steps, log = nl.load(count), []
        doubled(total, steps, log)
        unrolled(total, log)
        for _ in range(nt.scalar(steps)):
            total[...] = nl.add(total, 1.0)
            log.append(3)
        nl.store(out, value=total)
        seen.append(log)
        return out

    x = np.ones((4, 8), np.float32)
    np.testing.assert_array_equal(kernel(x, np.array([[times]], np.int32)), x * 2**times * 4 + times)
    assert seen == [[2, 2] if times == 0 else [1, 2, 2, 3]]


def test_a_number_on_the_chip_is_no_number_of_python() -> None:
    @nki.jit
    def kernel(x: Any, count: Any) -> Any:
        return nl.load(x)[0 : nt.scalar(nl.load(count)), :]

    with pytest.raises(NotModelled, match="a number that only the chip knows"):
        kernel(np.ones((4, 8), np.float32), np.array([[2]], np.int32))

    @nki.jit
    def wide(x: Any) -> Any:
        return nt.scalar(nl.load(x))

    with pytest.raises(KernelError, match="a tile of one element"):
        wide(np.ones((4, 8), np.float32))


@pytest.mark.parametrize(("at", "skips"), [(0, False), (2, False), (3, True), (-1, True)])
def test_a_row_that_is_out_of_bounds_is_skipped_or_an_error(at: int, skips: bool) -> None:
    def kernel(x: Any, index: Any, mode: Any) -> Any:
        out = nl.ndarray((2, 4, 8), dtype=x.dtype, buffer=nl.shared_hbm)
        row = nl.load(index)
        tile = nl.zeros((4, 8), dtype=x.dtype, buffer=nl.sbuf)
        tile[...] = nl.load(x[row[0, 0]], mode=mode)
        nl.store(out[0], value=tile)
        nl.store(out[1], value=nl.zeros((4, 8), dtype=x.dtype, buffer=nl.sbuf))
        column = nl.zeros((4, 2), dtype=x.dtype, buffer=nl.sbuf)
        column[...] = nl.load(x[row[0, 0], :, 3:5], mode=mode)
        nl.store(out[1, :, 0:2], value=column)
        return out

    x, index = np.arange(1, 97, dtype=np.float32).reshape(3, 4, 8), np.array([[at]], np.int32)
    expected = np.zeros((2, 4, 8), np.float32)
    if not skips:
        expected[0], expected[1, :, 0:2] = x[at], x[at, :, 3:5]
    np.testing.assert_array_equal(nki.jit(kernel)(x, index, oob_mode.skip), expected)
    if skips:
        with pytest.raises((KernelError, IndexError), match=r"out of bounds|out_of_bound"):
            nki.jit(kernel)(x, index, oob_mode.error)
    else:
        np.testing.assert_array_equal(nki.jit(kernel)(x, index, oob_mode.error), expected)


def test_a_predicate_of_the_first_dimensions_counts_for_the_others() -> None:
    """``flash_attn_core.py:429`` and ``flash_attn_impl.py:556`` of nki-samples."""

    @nki.jit
    def kernel(x: Any, chosen: Any, shape: Any) -> Any:
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.zeros(x.shape, dtype=x.dtype, buffer=nl.sbuf)
        nisa.tensor_copy_predicated(src=nl.load(x), dst=tile, predicate=nl.load(chosen))
        nl.store(out, value=tile)
        return out

    rng = np.random.default_rng(0)
    x = rng.normal(size=(4, 6, 3)).astype(np.float32)
    for shape in ((4, 1), (4, 6), (4, 6, 1), (4, 6, 3), (4, 18)):
        chosen = rng.integers(0, 2, shape).astype(np.uint8)
        wide = chosen.reshape(x.shape) if chosen.size == x.size else chosen.reshape(4, -1, 1)
        np.testing.assert_array_equal(kernel(x, chosen, shape), np.where(wide != 0, x, 0))
    with pytest.raises(KernelError, match="'predicate'"):
        kernel(x, np.ones((4, 3), np.uint8), None)
