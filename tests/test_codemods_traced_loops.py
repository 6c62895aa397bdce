"""Loops that the source names elsewhere than at the loop: what Beta 1 traced once advances once, or has a finding.

A body that was traced once is found by what it advances, not by how its loop is written: no way to write a loop may
give other numbers without a finding.
"""

from __future__ import annotations

import pytest
from first_rung import rewrite
from nki_migrate.runtime.cases import TensorSpec

KERNEL = """\
import functools
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl

LANGUAGE = nl
LOOPS = {"any": nl.affine_range, "each": nl.static_range}


def passes_of(n):
    return nl.affine_range(n)


class Plan:
    def __init__(self, loop):
        self.loop = loop

    def passes(self, n):
        return nl.sequential_range(n)


@nki.jit
def k(x, ordered=True, given=nl.affine_range):
    tiles, rows, columns = x.shape
    out = nl.ndarray((tiles, rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    factor = 1.0
    {before}
    for t in {loop}:
        {body}
        tile[...] = nl.load(x[t])
        nl.store(out[t], value=nl.multiply(tile, factor, dtype=nl.float32))
    return out
"""
ADVANCES = "factor = factor + 1.0"
X = {"x": TensorSpec((3, 32, 8), "float32", "normal")}

ONCE = [
    ("", "nl.affine_range(tiles)"),
    ("loop = nl.affine_range", "loop(tiles)"),
    ("loop = nl.sequential_range if ordered else nl.affine_range", "loop(tiles)"),
    ("", "(nl.sequential_range if ordered else nl.affine_range)(tiles)"),
]
EACH = [
    ("", "nl.static_range(tiles)"),
    ("loop = nl.static_range", "loop(tiles)"),
    ("numbers = [0, 1, 2]", "numbers"),
    ("numbers = (0, 1, 2)", "numbers"),
]
UNTOLD = [
    ("loop = nl.affine_range if ordered else nl.static_range", "loop(tiles)"),
    ("", "(nl.affine_range if ordered else nl.static_range)(tiles)"),
    ("", "given(tiles)"),
    ("", "passes_of(tiles)"),
    ("", "LANGUAGE.affine_range(tiles)"),
    ("", 'LOOPS["any"](tiles)'),
    ("plan = Plan(nl.affine_range)", "plan.loop(tiles)"),
    ("plan = Plan(nl.affine_range)", "plan.passes(tiles)"),
    ("loop = functools.partial(nl.affine_range, tiles)", "loop()"),
    ("numbers = [nl.affine_range(tiles)]", "numbers[0]"),
    ("numbers = nl.affine_range(tiles) if ordered else nl.static_range(tiles)", "numbers"),
    ("numbers = range(tiles)", "numbers"),
]


def kernel(case, body=ADVANCES):
    before, loop = case
    lines = KERNEL.replace("{before}", before).replace("{loop}", loop).replace("{body}", body)
    return lines if body or before else lines.replace("    \n", "")


def findings(case, body=ADVANCES):
    return [f for f in rewrite(kernel(case, body)).findings if f.code == "NKI004"]


def ids(cases):
    return [" ".join(case) for case in cases]


@pytest.mark.parametrize("case", [*ONCE, *EACH], ids=ids([*ONCE, *EACH]))
def test_a_loop_that_the_source_tells_is_rewritten(migrate, case):
    migration = migrate(kernel(case), X)
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert ("factor = factor_before_loop" in migration.outcome.source) == (case in ONCE)


@pytest.mark.parametrize("case", UNTOLD, ids=ids(UNTOLD))
def test_a_loop_of_which_nothing_tells_it_is_said_where_its_body_advances_something(case):
    (found,) = findings(case)
    assert found.message == "'factor' changes in a loop of which nothing tells whether Beta 1 traced its body once"


@pytest.mark.parametrize("body", ["LOOPS.popitem()", "if t > 1:\n            break"])
@pytest.mark.parametrize("case", UNTOLD[:1], ids=ids(UNTOLD[:1]))
def test_or_changes_an_object_or_may_be_left(case, body):
    (found,) = findings(case, body)
    assert "of which nothing tells whether Beta 1 traced its body once" in found.message


@pytest.mark.parametrize("case", UNTOLD, ids=ids(UNTOLD))
def test_and_not_where_it_does_neither(case):
    assert findings(case, "step = 1") == []


def test_loops_over_what_somebody_gives_are_no_such_loops_where_no_module_hands_out_a_loop():
    source = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def k(x, scales):
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.load(x)
    total = 0.0
    for scale in scales:
        total = total + scale
    nl.store(out, value=nl.multiply(tile, total, dtype=nl.float32))
    return out
"""
    assert rewrite(source).findings == ()
