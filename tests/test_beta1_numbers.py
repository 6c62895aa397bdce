"""Rounding and saturation, for every number of the small types; products and sums whose bits do not depend on size."""

from __future__ import annotations

import importlib
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nki_migrate.runtime import process
from nki_migrate.runtime.numerics import DTYPES, convert

matmul: Any = importlib.import_module("nki_migrate.runtime.isa.matmul")
reductions: Any = importlib.import_module("nki_migrate.runtime.isa.reductions")
FLOATS = ["bfloat16", "float16", "float8_e4m3", "float8_e4m3fn", "float8_e5m2"]
INTEGERS = ["int8", "uint8", "int16", "uint16"]


def every(dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Every bit pattern of an 8 or 16 bit type."""
    count = 1 << (8 * dtype.itemsize)
    return np.arange(count, dtype=np.uint8 if dtype.itemsize == 1 else np.uint16).view(dtype)


@pytest.mark.parametrize("name", FLOATS)
def test_every_number_survives_the_way_through_fp32(name: str) -> None:
    values = every(DTYPES[name])
    back = convert(values.astype(np.float32), DTYPES[name])
    numbers = ~np.isnan(values.astype(np.float32))
    unsigned = np.uint8 if values.dtype.itemsize == 1 else np.uint16
    np.testing.assert_array_equal(back[numbers].view(unsigned), values[numbers].view(unsigned))
    assert np.isnan(back[~numbers].astype(np.float32)).all()


@pytest.mark.parametrize("name", FLOATS)
def test_between_two_neighbours_the_nearest_is_taken_and_the_even_one_in_the_middle(name: str) -> None:
    dtype = DTYPES[name]
    found = every(dtype)
    unsigned = np.uint8 if dtype.itemsize == 1 else np.uint16
    numbers = found[np.isfinite(found.astype(np.float32)) & (found.view(unsigned) < 1 << (8 * dtype.itemsize - 1))]
    low, high = numbers[:-1], numbers[1:]
    middle = (low.astype(np.float64) + high.astype(np.float64)) / 2
    exact = middle.astype(np.float32).astype(np.float64) == middle
    assert exact.all()
    even = np.where(low.view(unsigned) % 2 == 0, low.astype(np.float32), high.astype(np.float32))
    for sign in (1, -1):
        given_ = (sign * middle).astype(np.float32)
        np.testing.assert_array_equal(convert(given_, dtype).astype(np.float32), sign * even)
        below, above = np.nextafter(given_, np.float32(-np.inf * sign)), np.nextafter(given_, np.float32(np.inf * sign))
        np.testing.assert_array_equal(convert(below, dtype).astype(np.float32), sign * low.astype(np.float32))
        np.testing.assert_array_equal(convert(above, dtype).astype(np.float32), sign * high.astype(np.float32))


@pytest.mark.parametrize("name", FLOATS)
@given(st.data())
def test_any_fp32_number_is_rounded_as_ml_dtypes_rounds_it(name: str, data: Any) -> None:
    bits = data.draw(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=64))
    values = np.array(bits, np.uint32).view(np.float32)
    with np.errstate(all="ignore"):
        expected = values.astype(DTYPES[name]).astype(np.float32)
        np.testing.assert_array_equal(convert(values, DTYPES[name]).astype(np.float32), expected)


@pytest.mark.parametrize("source", FLOATS)
@pytest.mark.parametrize("name", INTEGERS)
def test_integers_are_rounded_to_even_and_saturate_for_every_number(source: str, name: str) -> None:
    values = every(DTYPES[source])
    limits = np.iinfo(DTYPES[name])
    exact = values.astype(np.float64)
    expected = np.clip(np.rint(exact), limits.min, limits.max)
    converted = convert(values.astype(np.float32), DTYPES[name])
    numbers = ~np.isnan(exact)
    np.testing.assert_array_equal(converted[numbers], expected[numbers].astype(DTYPES[name]))
    assert not converted[~numbers].any()


@pytest.mark.parametrize("source", INTEGERS)
@pytest.mark.parametrize("name", INTEGERS)
def test_integers_saturate_in_integers_for_every_number(source: str, name: str) -> None:
    values = every(DTYPES[source])
    limits = np.iinfo(DTYPES[name])
    expected = np.clip(values.astype(np.int64), limits.min, limits.max)
    np.testing.assert_array_equal(convert(values, DTYPES[name]), expected)


@pytest.mark.parametrize("source", INTEGERS)
@pytest.mark.parametrize("name", FLOATS)
def test_integers_become_the_nearest_float(source: str, name: str) -> None:
    values = every(DTYPES[source])
    with np.errstate(over="ignore"):
        expected = values.astype(np.float32).astype(DTYPES[name]).astype(np.float32)
        found = convert(values.astype(np.float32), DTYPES[name]).astype(np.float32)
    np.testing.assert_array_equal(found, expected)
    assert ml_dtypes.finfo(DTYPES[name]).bits in (8, 16)


@settings(deadline=None)
@given(st.integers(1, 128), st.integers(1, 128), st.integers(1, 512), st.integers(0, 2**31))
def test_no_bit_of_a_product_depends_on_its_size(k: int, m: int, n: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    a, b = random.standard_normal((128, 128), np.float32), random.standard_normal((128, 512), np.float32)
    a[k:] = 0
    with process.launching():
        whole, part = matmul.gemm(a, b), matmul.gemm(a[:k, :m], b[:k, :n])
    np.testing.assert_allclose(whole, a.T.astype(np.float64) @ b, rtol=1e-5, atol=1e-4)
    np.testing.assert_array_equal(part, whole[:m, :n])


def test_a_part_that_adds_in_another_order_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    layout = matmul._LAYOUTS[0]
    refused = ((16, 32, 64), (16, 64, 64), (32, 32, 64))
    monkeypatch.setattr(matmul, "_is_exact", lambda layout, *part: part not in refused)
    assert matmul._part.__wrapped__(layout, 8, 8, 8) == (16, 32, 128)
    assert matmul._part.__wrapped__(layout, 17, 8, 8) == (32, 32, 128)
    monkeypatch.setattr(matmul, "_is_exact", lambda layout, *part: False)
    assert matmul._part.__wrapped__(layout, 8, 8, 8) == layout.whole == (128, 128, 512)


@pytest.mark.parametrize("exact", [0, 1])
def test_the_first_layout_whose_small_products_have_the_bits_of_large_ones_is_used(
    exact: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matmul, "_is_exact", lambda layout, *part: layout is matmul._LAYOUTS[exact])
    assert matmul._layout.__wrapped__() is matmul._LAYOUTS[exact]
    monkeypatch.setattr(matmul, "_is_exact", lambda layout, *part: False)
    assert matmul._layout.__wrapped__() is matmul._LAYOUTS[0]


@pytest.mark.parametrize("layout", matmul._LAYOUTS, ids=["tight", "padded"])
@settings(deadline=None, max_examples=40)
@given(st.integers(1, 128), st.integers(1, 128), st.integers(1, 512))
def test_every_layout_gives_bits_that_do_not_depend_on_the_size(layout: Any, k: int, m: int, n: int) -> None:
    random = np.random.default_rng(k * m * n)
    a, b = random.standard_normal((128, 128), np.float32), random.standard_normal((128, 512), np.float32)
    a[k:] = 0
    with pytest.MonkeyPatch.context() as patch, process.launching():
        patch.setattr(matmul, "_layout", lambda: layout)
        np.testing.assert_array_equal(matmul.gemm(a[:k, :m], b[:k, :n]), matmul.gemm(a, b)[:m, :n])


@pytest.mark.parametrize(("op", "identity"), [("add", 0), ("multiply", 1)])
@settings(deadline=None)
@given(n=st.integers(0, 700), more=st.integers(0, 700), rows=st.integers(1, 5), seed=st.integers(0, 2**31))
def test_no_bit_of_a_sum_depends_on_identities_behind_it(
    op: str, identity: int, n: int, more: int, rows: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    values = random.standard_normal((rows, n), np.float32) * np.float32(10) ** random.integers(-6, 6, (rows, n))
    values = values.astype(np.float32)
    longer = np.concatenate((values, np.full((rows, more), identity, np.float32)), axis=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reductions, "FLOAT32", np.dtype(np.float64))  # before the result is rounded, where it would show
        found, padded = reductions.reduce_last(op, values), reductions.reduce_last(op, longer)
    np.testing.assert_array_equal(found.view(np.int64), padded.view(np.int64))


@pytest.mark.parametrize("op", ["maximum", "minimum", "bitwise_xor", "logical_and", "logical_or", "logical_xor"])
@pytest.mark.parametrize("n", [1, 2, 3, 9, 16, 17])
@pytest.mark.parametrize("rows", [3, 400])
def test_a_short_axis_is_reduced_as_numpy_reduces_it_however_many_rows(op: str, n: int, rows: int) -> None:
    """Which zero and which NaN a maximum is, processors and versions of NumPy answer as their vectors happen to."""
    random = np.random.default_rng(n * rows)
    values = random.integers(-2, 3, (rows, n)).astype(np.int32 if op.startswith("bitwise") else np.float32)
    if values.dtype.kind == "f":
        values[values == 0] = np.where(random.random((values == 0).sum()) < 0.5, -0.0, 0.0)
        values[values == 2] = np.where(random.random((values == 2).sum()) < 0.5, np.nan, np.inf)
    expected = getattr(np, op).reduce(values, axis=-1)
    expected = expected.astype(np.float32) if expected.dtype.kind == "b" else expected
    found = reductions.reduce_last(op, values)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", [np.dtype(np.float32), DTYPES["bfloat16"]], ids=str)
@settings(deadline=None)
@given(
    k=st.integers(2, 128),
    m=st.integers(1, 128),
    seed=st.integers(0, 2**31),
    odd=st.sampled_from([None, np.inf, np.nan]),
)
def test_a_product_with_the_identity_has_the_bits_of_any_product(
    dtype: np.dtype[Any], k: int, m: int, seed: int, odd: float | None
) -> None:
    random = np.random.default_rng(seed)
    values = random.standard_normal((k, m)) * 10.0 ** random.integers(-42, 38, (k, m))
    values[random.random((k, m)) < 0.1] = -0.0
    values[0, 0] = values[0, 0] if odd is None else odd
    a, identity = values.astype(dtype), np.identity(k, dtype)
    with process.launching(), np.errstate(all="ignore"):
        found = matmul.gemm(a, identity)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(matmul, "_selected", lambda a: None)
            expected = matmul.gemm(a, identity)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.isnan(found), ~numbers)
    np.testing.assert_array_equal(found[numbers].view(np.uint32), expected[numbers].view(np.uint32))


@pytest.mark.parametrize("op", ["add", "multiply", "subtract", "maximum", "logical_and"])
@settings(deadline=None)
@given(shape=st.tuples(st.integers(1, 128), st.integers(1, 40), st.integers(1, 40)), seed=st.integers(0, 2**31))
def test_no_bit_of_a_reduction_depends_on_where_the_numbers_lie(op: str, shape: tuple[int, ...], seed: int) -> None:
    rows, *inner = shape
    memory = np.random.default_rng(seed).standard_normal((rows, 41, 45), np.float32)
    part = memory[:, : inner[0], 3 : 3 + inner[1]]
    flat = np.ascontiguousarray(part).reshape(rows, -1)
    expected = np.concatenate([reductions.reduce_last(op, flat[i : i + 1]) for i in range(rows)])
    same_bits(reductions.reduce_axes(op, part, (1, 2)), expected.reshape(-1, 1, 1))
    same_bits(reductions.reduce_axes(op, part.transpose(1, 0, 2), (0, 2)), expected.reshape(1, -1, 1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reductions, "_CACHED", 1000)  # so that few rows are added up at a time
        same_bits(reductions.reduce_free(op, part), expected[:, None])


def same_bits(found: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> None:
    np.testing.assert_array_equal(np.ascontiguousarray(found).view(np.uint32), expected.view(np.uint32))
