"""What an assertion says that another one has said already is not said again."""

from __future__ import annotations

import ast

import pytest
from nki_migrate.codemods.expr.emission import New, asserting
from nki_migrate.codemods.plan.early_assertions import _Asserted, _drop_implied
from nki_migrate.codemods.project.own_assertions import tells


@pytest.mark.parametrize(
    ("known", "again"),
    [
        (["a.dtype == b.dtype"], "b.dtype == a.dtype"),
        (["a.dtype == b.dtype", "c.dtype == b.dtype"], "a.dtype == c.dtype"),
        (["a.shape == b.shape == c.shape"], "c.shape == a.shape"),
        (["len(x.shape) == 2"], "len(x.shape) > 1"),
        (["n > 3"], "n >= 1"),
        (["a or b"], "a or b"),
        (["x.dtype in (nl.float32, nl.float16)"], "x.dtype in (nl.float16, nl.float32, nl.int32)"),
    ],
)
def test_what_was_said_is_known(known, again):
    asserted = _Asserted().having(asserting(test, "this") for test in known)
    assert asserting(again, "something else") in asserted


@pytest.mark.parametrize(
    ("known", "other"),
    [
        (["a.dtype == b.dtype"], "a.dtype == c.dtype"),
        (["a.dtype == b.dtype", "c.dtype == d.dtype"], "a.dtype == c.dtype"),
        (["len(x.shape) > 1"], "len(x.shape) == 2"),
        (["len(x.shape) == 2"], "len(y.shape) == 2"),
        (["n > 0"], "n < 9"),
        (["a == b or c"], "a == b"),
        (["n > 1"], "n > 0 and a == b"),
        (["n > 1"], "n > 0 or a == b"),
        (["a != b"], "a == b"),
        (["x.dtype in (nl.float32, nl.int32)"], "x.dtype in (nl.float32, nl.float16)"),
        (["x.dtype in (nl.float32, nl.float16)"], "y.dtype in (nl.float32, nl.float16)"),
    ],
)
def test_what_was_not_said_is_not_known(known, other):
    assert asserting(other, "this") not in _Asserted().having(asserting(test, "this") for test in known)


@pytest.mark.parametrize("known", ["n == 3", "n > 2", "n in (3, 5)", "2 < n", "n <= 4", "n != 7"])
@pytest.mark.parametrize("test", ["n == 3", "n > 1", "n >= 2", "n < 6", "n in (3, 4, 5)", "n != 7"])
def test_one_number_tells_another_where_it_does(known, test):
    numbers = [n for n in range(-20, 20) if eval(known, {"n": n})]
    expected = all(eval(test, {"n": n}) for n in numbers)
    parsed = [ast.parse(text, mode="eval").body for text in (known, test)]
    assert tells(*parsed) == expected


@pytest.mark.parametrize(
    ("tests", "left"),
    [
        (["x.dtype in (a, b, c)", "n > 0", "x.dtype in (a, b)"], ["n > 0", "x.dtype in (a, b)"]),
        (["n > 0", "n > 1"], ["n > 1"]),
        (["x.dtype in (a, b)", "y.dtype in (a, b)"], ["x.dtype in (a, b)", "y.dtype in (a, b)"]),
    ],
)
def test_what_a_later_assertion_of_the_same_run_tells_is_dropped(tests, left):
    news = [asserting(test, "this") for test in tests]
    _drop_implied(news)
    assert news == [asserting(test, "this") for test in left]
    apart = [asserting("n > 0", "this"), New("n = f(n)"), asserting("n > 1", "this")]
    _drop_implied(apart)
    assert len(apart) == 3
