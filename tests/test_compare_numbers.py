"""The numbers level: bits, ULPs, and NumPy references."""

from __future__ import annotations

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest
from nki_migrate.runtime.compare import Inexact, Packed, Run, Verdict, compare_numbers, compare_with_reference
from nki_migrate.runtime.compare.trace import form_of


def outputs(*arrays: np.ndarray) -> Run:
    return Run(tuple(Packed.of(array) for array in arrays), ())


def message(old: np.ndarray, new: np.ndarray, ulps: int = 0) -> str:
    verdict = compare_numbers(outputs(old), outputs(new), inexact=Inexact(ulps, "NKI022"), outputs={0})
    assert verdict.verdict is Verdict.DIFFERENT
    return verdict.differences[0].message


@pytest.mark.parametrize(
    "dtype", ["float32", "float16", ml_dtypes.bfloat16, ml_dtypes.float8_e4m3, "int32", "uint8", bool]
)
def test_equal_bits_are_equal_in_every_type(dtype: object) -> None:
    array = np.arange(6).reshape(2, 3).astype(dtype)
    verdict = compare_numbers(outputs(array), outputs(array.copy()))
    assert (verdict.verdict, verdict.summary) == (Verdict.EQUAL, "1 output, bit-identical")


@pytest.mark.parametrize("dtype", ["float32", "float16", ml_dtypes.bfloat16, ml_dtypes.float8_e4m3, "int32", "uint8"])
def test_one_bit_is_found_in_every_type(dtype: object) -> None:
    old = np.arange(1, 7).reshape(2, 3).astype(dtype)
    new = old.copy()
    new.view(np.uint8).reshape(2, 3, -1)[1, 2, 0] ^= 1
    assert "differs in 1 of 6 elements, first at [1, 2]" in message(old, new)


def test_nan_equals_nan_of_any_payload_but_not_a_number() -> None:
    old, new = np.array([np.nan, 1], np.float32), np.array([np.nan, 1], np.float32)
    new.view(np.uint32)[0] ^= 5
    assert compare_numbers(outputs(old), outputs(new)).verdict is Verdict.EQUAL
    assert "nan before, 0.0 after" in message(old, np.array([0, 1], np.float32))


def test_the_sign_of_zero_is_a_difference_whatever_the_bound() -> None:
    old, new = np.zeros(2, np.float32), np.array([0.0, -0.0], np.float32)
    assert message(old, new, ulps=10).endswith("only the sign of zero differs")


def test_ulps_are_counted_and_located() -> None:
    old = np.ones((2, 2), np.float32)
    new = old.copy()
    new[0, 1] = np.nextafter(np.float32(1), np.float32(2))
    new[1, 1] = np.float32(1 + 2**-20)
    assert "differs in 2 of 4 elements, first at [0, 1]" in message(old, new)
    assert "at most 8 ULP, at [1, 1]" in message(old, new)


def test_a_declared_bound_is_kept_and_reported() -> None:
    old = np.ones(4, np.float32)
    new = np.nextafter(old, np.float32(2))
    verdict = compare_numbers(outputs(old), outputs(new), inexact=Inexact(1, "NKI022"), outputs={0})
    assert (verdict.verdict, verdict.summary) == (
        Verdict.EQUAL,
        "1 output, at most 1 ULP apart, within 1 (declared by NKI022)",
    )
    assert verdict.ulps == 1
    assert "at most 2 ULP" in message(old, np.nextafter(new, np.float32(2)), ulps=1)


def test_a_bound_holds_for_outputs_that_a_division_reaches_only() -> None:
    old = np.ones(4, np.float32)
    runs = outputs(old, old), outputs(np.nextafter(old, np.float32(2)), np.nextafter(old, np.float32(2)))
    verdict = compare_numbers(*runs, inexact=Inexact(1, "NKI022"), outputs={1})
    assert (verdict.verdict, verdict.summary, verdict.ulps) == (Verdict.DIFFERENT, "1 of 2 outputs differ", 0)
    assert verdict.differences[0].message.startswith("output 0 ") and "within no bound" in verdict.notes[0]


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        (np.zeros((2, 3), np.float32), np.zeros((3, 2), np.float32), "has shape [2, 3] before and [3, 2] after"),
        (np.zeros(2, np.float32), np.zeros(2, np.int32), "is float32 before and int32 after"),
    ],
)
def test_shape_and_type_are_part_of_the_output(old: np.ndarray, new: np.ndarray, text: str) -> None:
    assert text in message(old, new)


def test_a_missing_output_is_a_difference() -> None:
    x = np.zeros(2, np.float32)
    verdict = compare_numbers(outputs(x, x), outputs(x))
    assert verdict.differences[0].message == "2 outputs before, 1 after"


@pytest.mark.parametrize("other", ["(a,)", "[a]", "((a,),)", "(a, None)", "{'a': a}"])
def test_the_form_of_the_returned_value_is_compared(other: str) -> None:
    a = np.zeros((2, 2), np.float32)
    old, new = form_of(a), form_of(eval(other, {"a": a}))
    runs = replace(outputs(a), form=old), replace(outputs(a), form=new)
    for before, after in (runs, runs[::-1]):
        verdict = compare_numbers(before, after)
        (difference,) = verdict.differences
        assert difference.message == f"the kernel returns {before.form} before and {after.form} after"
        assert verdict.summary == "the returned values differ in form"
    assert compare_numbers(runs[1], runs[1]).verdict is Verdict.EQUAL


def test_a_list_is_as_a_tuple_and_what_returns_nothing_has_no_form() -> None:
    a = np.zeros((2, 2), np.float32)
    assert form_of([a, (a,)]) == form_of((a, [a])) == "(tensor, (tensor,))"
    old = replace(outputs(a), form=form_of(None))
    assert compare_numbers(old, replace(outputs(a), form=form_of((a,)))).verdict is Verdict.EQUAL


def test_no_output_at_all_is_undecided() -> None:
    assert compare_numbers(outputs(), outputs()).verdict is Verdict.UNDECIDED


def test_integers_that_are_far_apart_do_not_overflow() -> None:
    old, new = np.array([-(2**31)], np.int32), np.array([2**31 - 1], np.int32)
    assert f"at most {2**32 - 1} apart" in message(old, new)


def test_a_reference_agrees_within_its_tolerances_only() -> None:
    run = outputs(np.array([1.0, 2.02], np.float32))
    assert compare_with_reference(run, [np.array([1.0, 2.0])], rtol=0.02, atol=0) == []
    (difference,) = compare_with_reference(run, [np.array([1.0, 2.0])], rtol=0.001, atol=0)
    assert "off in 1 of 2 elements (rtol 0.001, atol 0), most at [1]: 2.02, the reference has 2" in difference.message


def test_a_reference_has_the_same_outputs() -> None:
    run = outputs(np.zeros((2, 2), np.float32))
    assert (
        "returns 1 tensors, the reference 2"
        in compare_with_reference(run, [np.zeros(2)] * 2, rtol=0, atol=0)[0].message
    )
    assert (
        "has shape [2, 2], the reference [4]" in compare_with_reference(run, [np.zeros(4)], rtol=0, atol=0)[0].message
    )


def test_nan_in_the_output_alone_is_off() -> None:
    (difference,) = compare_with_reference(outputs(np.array([np.nan, 1.0])), [np.ones(2)], rtol=1, atol=1)
    assert "most at [0]: nan" in difference.message
