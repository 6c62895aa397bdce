"""Tuples of tensors: random kernels hand them on, and are equal at all levels; what is not followed is said."""

from __future__ import annotations

import pytest
from examples import examples
from first_rung import rewrite
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from nki_migrate.runtime.cases import TensorSpec
from nki_migrate.runtime.compare import Failure

IMPORTS = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
"""
HELPERS = (
    """
def swapped(pair):
    return pair[1], pair[0]
""",
    """
def grown(state, tile):
    first, second = state
    return (nl.add(first, tile, dtype=nl.float32), nl.maximum(second, tile, dtype=nl.float32))
""",
    """
def last(pair):
    return pair[-1]
""",
)
KERNEL = """

@nki.jit
def k(x):
    out = nl.ndarray((8, 4), dtype=nl.float32, buffer=nl.shared_hbm)
    one = nl.load(x[0:8, 0:4])
    two = nl.load(x[8:16, 0:4])
    state = (one, two)
"""
STEPS = (
    "state = swapped(state)",
    "state = grown(state, two)",
    "state = grown(swapped(state), state[0])",
    "state = (state[1], two)",
    "one, two = state",
    "two = last(state)",
    "state = grown((two, one), nl.load(x[4:12, 0:4]))",
    "one = nl.multiply(state[0], 0.5, dtype=nl.float32)",
)
STORE = "nl.store(out, value=nl.add(state[0], state[1]))"
LOOPS = ("for i in nl.static_range(2):", "for i in nl.affine_range(2):", "for i in range(2):", "if x.shape[0] > 3:")


@pytest.mark.random
@settings(max_examples=examples(12), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(chosen=st.randoms(use_true_random=False))
def test_tuples_of_tiles_hold_what_they_held(migrate, chosen):
    lines = []
    for _ in range(chosen.randint(1, 4)):
        block = [chosen.choice(STEPS) for _ in range(chosen.randint(1, 3))]
        if chosen.random() < 0.5:
            lines += [chosen.choice(LOOPS), *(f"    {step}" for step in [*block, STORE])]
        else:
            lines += block
    shown = chosen.choice(["nl.add(state[0], state[1])", "last(state)", "state[0]", "nl.subtract(one, two)"])
    body = "".join(f"    {line}\n" for line in [*lines, f"nl.store(out, value={shown})", "return out"])
    used = [helper for helper in HELPERS if helper.partition("def ")[2].partition("(")[0] in body]
    source = "\n".join([IMPORTS, *used]) + KERNEL + body
    note(source)
    migration = migrate(source, {"x": TensorSpec((16, 4), "float32", "normal")})
    assert migration.outcome.findings == ()
    if isinstance(migration.before, Failure):  # Beta 1 lets no tile of a loop leave it
        return
    assert (migration.objection, migration.trouble) == (None, ())


@pytest.mark.parametrize(
    ("pair", "rewritten"),
    [
        ("(one, two)", True),
        ("(one, nl.exp(two))", True),
        ("(one, nisa.nc_transpose(two))", False),  # what is written to PSUM is followed by names
        ("[one, two]", False),  # a list changes
    ],
)
def test_what_a_tuple_holds_is_known_where_nothing_changes_it(pair, rewritten):
    outcome = rewrite(
        IMPORTS + KERNEL + f"    pair = {pair}\n    nl.store(out, value=nl.add(one, pair[1]))\n    return out\n"
    )
    assert (outcome.findings == ()) == rewritten
