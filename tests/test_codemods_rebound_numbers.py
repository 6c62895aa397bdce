"""Numbers that are bound again: whether a mask leaves anything is asked of what they are where the mask stands.

An access without the ``if`` that its mask needs would have a negative size where nothing is left.
"""

from __future__ import annotations

import random

import pytest
from examples import examples
from first_rung import Options, rewrite
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from nki_migrate.runtime.cases import TensorSpec
from nki_migrate.runtime.compare import Failure

HEAD = """\
import math

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def k(x, flag):
    n = x.shape[0]
    out = nl.ndarray((n, 8), dtype=x.dtype, buffer=nl.shared_hbm)
    i_f = nl.arange(8)[None, :]
    nl.store(out, nl.load(x))
"""
ACCESS = """\
    i_p = {start} + nl.arange({rows})[:, None]
    nl.store(out[i_p, i_f], nl.add(nl.load(x[i_p, i_f], mask=i_p < n), 1.0), mask=i_p < n)
"""


def kernel(body: str) -> str:
    return HEAD + "".join(f"    {line}\n" for line in body.splitlines()) + "    return out\n"


def loop(before: str, count: str, inside: str, start: str = "i * t", rows: int = 32) -> str:
    access = ACCESS.format(start=start, rows=rows)
    lines = [*(f"    {line}" for line in inside.splitlines()), *access.splitlines()]
    return kernel("\n".join([before, f"for i in nl.static_range({count}):", *lines]))


@pytest.mark.parametrize(
    "source",
    [
        loop("t = 32", "math.ceil(n / t)", "t = 2 * x.shape[1] + 32"),
        loop("t = 32", "math.ceil(n / t)", "i = i + 1"),
        loop("t = 32\nc = math.ceil(n / t)\nt = 64", "c", ""),
        loop("if flag:\n    t = 32\n    c = math.ceil(n / t)\nelse:\n    t = 64\n    c = 3", "c", ""),
        loop("t = 32\nc = math.ceil(n / t)\nfor j in nl.static_range(2):\n    t = 64", "c", ""),
        loop("c = 3\nt = 32\nif flag:\n    c = math.ceil(n / t)", "c", ""),
        loop("t = 64\nc = math.ceil(n / t)\nc = c + 1", "c", ""),
    ],
)
def test_a_mask_that_may_leave_nothing_is_asked_for(migrate, source):
    for flag in (True, False):
        migration = migrate(source, {"x": TensorSpec((70, 8), "float32", "normal"), "flag": flag})
        assert (migration.outcome.findings, migration.trouble) == ((), ())
    assert "> 0:" in migration.outcome.source


@pytest.mark.parametrize(
    "source",
    [
        loop("if flag:\n    t = 32\nelse:\n    t = 16\nc = math.ceil(n / t)", "c", ""),
        loop("t = 16\nt = 32\nc = (n + t - 1) // t", "c", ""),
        loop("t = 16\nt = 32\nc = n // t\nc = 2\nc = math.ceil(n / t)", "c", ""),
        loop("t = 32\nc = math.ceil(n / t)\ns = 1", "c", "s = i * t", start="s"),
    ],
)
def test_a_mask_that_leaves_something_is_not_asked_for(migrate, source):
    for flag in (True, False):
        migration = migrate(source, {"x": TensorSpec((70, 8), "float32", "normal"), "flag": flag})
        assert (migration.outcome.findings, migration.trouble) == ((), ())
    assert "> 0:" not in migration.outcome.source


class Program:
    """A kernel that binds a size, a count and a start again and again, around accesses under a mask."""

    def __init__(self, chosen: random.Random) -> None:
        self.chosen, self.loops = chosen, 0
        self.lines = ["t = 32", "c = math.ceil(n / t)", "s = 0", *self.block(3)]

    def block(self, depth: int) -> list[str]:
        return [line for _ in range(self.chosen.randint(1, 4)) for line in self.statement(depth)]

    def statement(self, depth: int) -> list[str]:
        kinds = [self.number, self.number, self.access, self.branch, self.loop]
        return self.chosen.choice(kinds if depth else kinds[:3])(depth)

    def number(self, depth: int) -> list[str]:
        numbers = ["t = 16", "t = 32", "t = 64", "c = math.ceil(n / t)", "c = (n + t - 1) // t", "c = n // t", "c = 2"]
        starts = ["s = 0", "s = t", "s = s + t", "s = min(c, 4) * t"]
        if self.loops:
            starts += [f"s = i{self.chosen.randint(1, self.loops)} * t", f"i{self.loops} = i{self.loops} + 1"] * 2
        return [self.chosen.choice(numbers + starts)]

    def access(self, depth: int) -> list[str]:
        start = self.chosen.choice(["s", "t", "s + t", *(f"i{n + 1} * t" for n in range(self.loops))])
        return [line[4:] for line in ACCESS.format(start=start, rows=self.chosen.choice([16, 32])).splitlines()]

    def branch(self, depth: int) -> list[str]:
        other = ["else:", *self.indented(depth)] if self.chosen.random() < 0.5 else []
        return [self.chosen.choice(["if flag:", "if t > 16:"]), *self.indented(depth), *other]

    def loop(self, depth: int) -> list[str]:
        self.loops += 1
        kind = self.chosen.choice(["nl.static_range", "nl.static_range", "range", "nl.affine_range"])
        count = self.chosen.choice(["c", "math.ceil(n / t)", "n // t", "2"])
        lines = [f"for i{self.loops} in {kind}({count}):", *self.indented(depth)]
        self.loops -= 1
        return lines

    def indented(self, depth: int) -> list[str]:
        return [f"    {line}" for line in self.block(depth - 1)]


@pytest.mark.random
@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(chosen=st.randoms(use_true_random=False), rows=st.sampled_from([40, 64, 70]), flag=st.booleans())
def test_numbers_that_are_bound_again_are_rewritten_and_equal_or_have_a_finding(migrate, chosen, rows, flag):
    source = kernel("\n".join(Program(chosen).lines))
    note(source)
    migration = migrate(source, {"x": TensorSpec((rows, 8), "float32", "normal"), "flag": flag})
    if isinstance(migration.before, Failure) or migration.outcome.findings:
        return
    assert (migration.objection, migration.trouble) == (None, ())


def test_most_of_the_programs_are_rewritten():
    """So that the property above does not hold because nothing is rewritten."""
    sources = [kernel("\n".join(Program(random.Random(seed)).lines)) for seed in range(40)]
    assert sum(rewrite(source, Options(unsafe=True)).findings == () for source in sources) >= 20
