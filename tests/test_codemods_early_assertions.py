"""Assertions of equality for one reason that share a side are chained; all others stay what they are."""

from __future__ import annotations

import pytest
from nki_migrate.codemods.expr.emission import New, assertion
from nki_migrate.codemods.plan.early_assertions import chained

ONE = "operands of one type"


def texts(*conditions: tuple[str, str]) -> list[str]:
    return [new.text for new in chained(New(assertion(condition, what)) for condition, what in conditions)]


@pytest.mark.parametrize(
    ("conditions", "chain"),
    [
        (["a.dtype == b.dtype", "a.dtype == c.dtype"], "a.dtype == b.dtype == c.dtype"),
        (["a.dtype == b.dtype", "c.dtype == b.dtype"], "a.dtype == b.dtype == c.dtype"),
        (["len(a.shape) == 3", "len(b.shape) == 3"], "len(a.shape) == len(b.shape) == 3"),
        (["a.dtype == b.dtype", "b.dtype == a.dtype"], "a.dtype == b.dtype"),
    ],
)
def test_assertions_that_share_a_side_are_one(conditions: list[str], chain: str) -> None:
    assert texts(*((condition, ONE) for condition in conditions)) == [assertion(chain, ONE)]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("a.dtype == b.dtype", ONE), ("c.dtype == d.dtype", ONE)),
        (("len(a.shape) == 2", "2 dimensions"), ("len(b.shape) == 3", "3 dimensions")),
        (("a.dtype == b.dtype", ONE), ("a.dtype == c.dtype", "tiles of one type")),
        (("a.dtype != b.dtype", ONE), ("a.dtype != c.dtype", ONE)),
        (("a.dtype == b.dtype or n", ONE), ("a.dtype == c.dtype", ONE)),
        (("len(a.shape) <= 3", ONE), ("len(b.shape) <= 3", ONE)),
    ],
)
def test_others_stay(first: tuple[str, str], second: tuple[str, str]) -> None:
    assert texts(first, second) == [assertion(*first), assertion(*second)]
