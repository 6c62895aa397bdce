"""Rows that a tensor of indices chooses, against the number of each of their elements."""

from __future__ import annotations

from math import prod
from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from nki_migrate.runtime.beta2 import indirect


@st.composite
def accesses(draw: st.DrawFn) -> Any:
    """``tensor.ap(steps, start, vector_offset=indices)`` of a small tensor, whose rows may leave it on either side."""
    shape = tuple(draw(st.lists(st.integers(1, 6), min_size=1, max_size=3)))
    indices = np.array(draw(st.lists(st.integers(-2, 7), min_size=1, max_size=5)), np.int32)
    inner = draw(st.lists(st.tuples(st.integers(-3, 4), st.integers(0, 4)), max_size=3))
    return SimpleNamespace(
        base=SimpleNamespace(array=np.arange(prod(shape), dtype=np.float32).reshape(shape)),
        indices=SimpleNamespace(resolved=lambda: SimpleNamespace(array=indices)),
        start=draw(st.integers(0, 5)),
        steps=((prod(shape[1:]), len(indices)), *inner),
    )


def numbers_of(access: Any) -> np.ndarray:
    """The row-major number of each element of each row."""
    row, counts = prod(access.base.array.shape[1:]), [count for _, count in access.steps[1:]]
    offsets = [sum(i * step for i, (step, _) in zip(at, access.steps[1:], strict=True)) for at in np.ndindex(*counts)]
    rows = [[access.start + int(index) * row + each for each in offsets] for index in access.indices.resolved().array]
    return np.array(rows, np.int64).reshape(len(rows), prod(counts))


@given(accesses())
def test_rows_have_the_elements_that_their_numbers_say(access: Any) -> None:
    numbers, size = numbers_of(access), access.base.array.size
    starts, inside = indirect.rows(access)
    assert inside.tolist() == [all(0 <= n < size for n in row) for row in numbers.tolist()]
    wanted = numbers[inside]
    found = indirect.windows(access, access.base.array.reshape(-1))[starts[inside]].reshape(wanted.shape)
    np.testing.assert_array_equal(found, wanted)  # each element of the tensor is its own number
    if wanted.size:
        np.testing.assert_array_equal(indirect.elements(access, starts[inside]), wanted)


@given(accesses())
def test_what_is_written_twice_has_the_last_value(access: Any) -> None:
    starts, inside = indirect.rows(access)
    wanted, numbers = access.base.array.reshape(-1).copy(), numbers_of(access)[inside]
    values = np.arange(1000, 1000 + numbers.size, dtype=np.float32).reshape(numbers.shape)
    for number, value in zip(numbers.reshape(-1), values.reshape(-1), strict=True):
        wanted[number] = value
    windows = indirect.windows(access, access.base.array.reshape(-1))
    windows[starts[inside]] = values.reshape(-1, *windows.shape[1:]) if numbers.size else 0
    np.testing.assert_array_equal(access.base.array.reshape(-1), wanted)
