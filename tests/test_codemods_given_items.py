"""Helpers whose parameter gets what lists and dictionaries hold, numbers or tiles: of which type a result is."""

from __future__ import annotations

import pytest
from nki_migrate.runtime.cases import TensorSpec
from nki_migrate.runtime.messages import Failure

KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


def get(a, b):
    return b


def both(tile, other):
    return {body}


@nki.jit
def k(x, y, flag=True):
    out = nl.ndarray((128, 16), dtype=nl.float32, buffer=nl.shared_hbm)
    t = nl.load(x, dtype=nl.bfloat16)
    u = nl.load(y[0:128, 0:1], dtype=nl.float32)
    {made}
    r = both(t, other={given})
    nl.store(out, r)
    return out
"""
GIVEN = (
    ("items = [t, u]", "items[1]"),
    ("items = [t, u]", "items[1][:, 0:1]"),
    ("items = {'a': t, 'b': u}", "items['b'][:, 0:1]"),
    ("items = [t]\n    items.append(u)", "items[-1]"),
    ("items = [0, [t, u]]", "items[1][1][:, 0:1]"),
    ("items = u if flag else 2.0", "items"),
    ("items = (t, u)", "items[1][:, 0:1]"),
    ("items = get(t, u)", "items"),
    ("items = [2.0, 0.25]", "items[1]"),
    ("items = {'b': 3}", "items['b']"),
    ("items = 0.3", "items"),
)
BODIES = (
    "nl.multiply(tile, other)",
    "tile * other",
    "nl.add(other, tile)",
    "nl.maximum(tile, other, dtype=nl.float32)",
)


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize(("made", "given"), GIVEN)
def test_the_type_is_what_it_was_or_the_kernel_stops(migrate, made, given, body):
    args = {name: TensorSpec((128, 16), "float32") for name in "xy"}
    migration = migrate(KERNEL.format(body=body, made=made, given=given), args)
    assert migration.objection is None
    assert not isinstance(migration.before, Failure)
    if isinstance(migration.after, Failure):
        assert "rewritten for a number" in migration.after.message or migration.outcome.findings
        assert "u" in made  # a tile
    else:
        assert migration.trouble == ()
