"""Plans of memory: every flaw is found, nothing else is, and the figures are those of a count byte by byte."""

from __future__ import annotations

import doctest
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nki_migrate.runtime import plan as package
from nki_migrate.runtime.plan import Alloc, Plan, Space, aligned, flaws, overlaps, statistics, trace

allocs = st.lists(
    st.builds(
        lambda scope, size, start, length, addr: (scope, size, (start, start + length), addr),
        st.sampled_from(["a", "b"]),
        st.integers(0, 12),
        st.integers(0, 8),
        st.integers(0, 6),
        st.none() | st.integers(0, 30),
    ),
    max_size=8,
)


def made(rows: list[tuple[str, int, tuple[int, int], int | None]]) -> Plan:
    found = [
        Alloc(f"t{n}", scope, (size,), "uint8", size, 1, live, addr) for n, (scope, size, live, addr) in enumerate(rows)
    ]
    return Plan(tuple(found), (Space("a", 40),))


@given(allocs)
def test_overlaps_are_those_of_a_map_of_bytes_and_steps(rows: list) -> None:
    plan = made(rows)
    cells: dict[tuple[str, int, int], list[int]] = {}
    for number, one in enumerate(plan.allocs):
        if one.addr is not None:
            for byte, step in itertools.product(range(one.addr, one.addr + one.bytes), range(*one.live)):
                cells.setdefault((one.scope, byte, step), []).append(number)
    expected = {pair for owners in cells.values() for pair in itertools.combinations(owners, 2)}
    assert {(plan.allocs.index(a), plan.allocs.index(b)) for a, b in overlaps(plan)} == expected


@given(allocs)
def test_figures_are_those_of_a_count(rows: list) -> None:
    plan = made(rows)
    for scope, usage in statistics(plan).items():
        mine = list(plan.of(scope))
        taken = {byte for one in mine if one.addr is not None for byte in range(one.addr, one.addr + one.bytes)}
        top = max((one.addr + one.bytes for one in mine if one.addr is not None), default=0)
        peak = max((sum(o.bytes for o in mine if o.live[0] <= s < o.live[1]) for s in range(20)), default=0)
        assert (usage.buffers, usage.top, usage.peak) == (len(mine), top, peak)
        assert usage.padding == top - len(taken)
        assert max((step.in_use for step in trace(plan) if step.scope == scope), default=0) == peak


def test_a_trace_releases_before_it_allocates() -> None:
    plan = Plan((Alloc("x", "ub", (4,), "int8", 4, live=(0, 2)), Alloc("y", "ub", (4,), "int8", 4, live=(2, 3))))
    assert [(s.step, s.what, s.name, s.in_use) for s in trace(plan)] == [
        (0, "alloc", "x", 4),
        (2, "free", "x", 0),
        (2, "alloc", "y", 4),
        (3, "free", "y", 0),
    ]


@pytest.mark.parametrize(
    ("alloc", "code"),
    [
        (Alloc("x", "a", (8,), "int8", 8, addr=36), "over-capacity"),
        (Alloc("x", "a", (48,), "int8", 48), "over-capacity"),
        (Alloc("x", "a", (8,), "int8", 8, addr=-8), "out-of-range"),
        (Alloc("x", "a", (8,), "int8", 8, align=16, addr=8), "misaligned"),
    ],
)
def test_each_flaw_has_its_code(alloc: Alloc, code: str) -> None:
    assert [flaw.code for flaw in flaws(Plan((alloc,), (Space("a", 40),)))] == [code]


def test_what_lives_in_turns_fits_together() -> None:
    rows = [("a", 30, (0, 2), None), ("a", 30, (2, 4), None)]
    assert flaws(made(rows)) == ()


def test_two_allocations_of_one_name_are_an_error() -> None:
    with pytest.raises(ValueError, match="are called 'x'"):
        Plan((Alloc("x", "a", (1,), "int8", 1), Alloc("x", "a", (1,), "int8", 1)))


def test_alignment() -> None:
    assert [aligned(n, 16) for n in (0, 1, 16, 17)] == [0, 16, 16, 32]


def test_the_example_of_the_package() -> None:
    assert doctest.testmod(package).failed == 0
    assert doctest.testmod(package).attempted > 0
