"""Where assertions stand, and which of them are one: those of equality for one reason that share a side are chained."""

from __future__ import annotations

import pytest
from first_rung import Options, rewrite
from hypothesis import given
from hypothesis import strategies as st
from nki_migrate.codemods.expr.emission import asserting
from nki_migrate.codemods.plan.early_assertions import chained

ONE = "operands of one type"


def texts(*conditions: tuple[str, str]) -> list[str]:
    return [new.text for new in chained(asserting(condition, what) for condition, what in conditions)]


@pytest.mark.parametrize(
    ("conditions", "chain"),
    [
        (["a.dtype == b.dtype", "a.dtype == c.dtype"], "a.dtype == b.dtype == c.dtype"),
        (["a.dtype == b.dtype", "c.dtype == b.dtype"], "a.dtype == b.dtype == c.dtype"),
        (["len(a.shape) == 3", "len(b.shape) == 3"], "len(a.shape) == len(b.shape) == 3"),
        (["a.dtype == b.dtype", "b.dtype == a.dtype"], "a.dtype == b.dtype"),
        (
            ["a.dtype == b.dtype", "c.dtype == d.dtype", "b.dtype == c.dtype"],
            "a.dtype == b.dtype == c.dtype == d.dtype",
        ),
    ],
)
def test_assertions_that_share_a_side_are_one(conditions: list[str], chain: str) -> None:
    assert texts(*((condition, ONE) for condition in conditions)) == [asserting(chain, ONE).text]


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
    assert texts(first, second) == [asserting(*first).text, asserting(*second).text]


@given(st.lists(st.lists(st.sampled_from("abcdef"), min_size=2, max_size=3, unique=True), max_size=6))
def test_each_group_of_equal_sides_is_one_assertion(chains: list[list[str]]) -> None:
    groups: list[set[str]] = []
    for sides in chains:
        shared = [group for group in groups if not group.isdisjoint(sides)]
        groups = [*(group for group in groups if group.isdisjoint(sides)), set(sides).union(*shared)]
    written = chained(asserting(" == ".join(sides), ONE) for sides in chains)
    tests = [new.asserts[0] for new in written if new.asserts is not None]
    assert sorted(map(sorted, groups)) == sorted(sorted(test.split(" == ")) for test in tests)


KERNEL = """import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def k(a, b, deep, wide=False):
    rows, columns = a.shape
    steps = deep // 2
    out = nl.ndarray((rows, columns), dtype=a.dtype, buffer=nl.shared_hbm)
    # each turn
    for t in nl.affine_range(4):
        left, right = nl.load(a), nl.load(b)
        total = nl.zeros((128, 128), dtype=nl.float32, buffer=nl.psum)
        for s in nl.affine_range(steps):
            total += nisa.nc_matmul(left[0:128, 0:128], right[0:128, 0:128])
        BODY
    return out
"""
BOTH = """if wide:
            nl.store(out, nl.add(left, right))
        else:
            nl.store(out, nl.multiply(left, right))"""
ONE_SIDE = BOTH.replace("nl.multiply(left, right)", "left")
AFTER = f"nl.store(out, nl.add(left, right))\n        {ONE_SIDE}"
TYPES = '    assert a.dtype == b.dtype, "rewritten for operands of one type"\n'


@pytest.mark.parametrize(("body", "margin"), [(BOTH, 4), (AFTER, 4), (ONE_SIDE, 12)])
def test_what_both_sides_assert_stands_before_the_loop_and_nothing_twice(body: str, margin: int) -> None:
    source = KERNEL.replace("left, right = nl.load(a), nl.load(b)", "left = nl.load(a)\n        right = nl.load(b)")
    output = rewrite(source.replace("BODY", body), Options(unsafe=True)).source
    assert output.count(TYPES.strip()) == 1
    assert f"\n{' ' * margin}{TYPES.strip()}\n" in output


def test_that_loops_run_is_asserted_above_the_comment_on_the_outermost_one() -> None:
    source = KERNEL.replace("left, right = nl.load(a), nl.load(b)", "left = nl.load(a)\n        right = nl.load(b)")
    output = rewrite(source.replace("BODY", BOTH), Options(unsafe=True)).source
    above, _, below = output.partition("    # each turn\n    for t in")
    assert '    assert steps > 0, "rewritten for loops that run"\n' in above and "assert" not in below


RETURNED = """import neuronxcc.nki as nki
import neuronxcc.nki.language as nl

def doubled(tile):
    return nl.add(tile, tile)

@nki.jit
def k(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for t in nl.affine_range(x.shape[0]):
        tile = nl.load(x[t, 0:16, 0:8])
        tile[...] = doubled(tile)
        nl.store(out[t, 0:16, 0:8], value=tile)
    return out
"""


def test_what_a_statement_of_the_output_binds_is_asserted_behind_it() -> None:
    output = rewrite(RETURNED, Options(unsafe=True)).source
    assert output.index("doubled_result = doubled(tile)") < output.index("assert str(doubled_result.dtype)")
