"""What is written to a part of something that a list, a dictionary or an object holds: never left without a word."""

from __future__ import annotations

import pytest
from nki_migrate.runtime.cases import TensorSpec
from nki_migrate.runtime.messages import Failure

KERNEL = """\
from dataclasses import dataclass

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@dataclass
class Pair:
    a: object


def first(items):
    items[0][...] = 5.0


@nki.jit
def k(x):
    out = nl.ndarray((128, 16), dtype=nl.float32, buffer=nl.shared_hbm)
    t = nl.load(x[0:128, 0:16], dtype=nl.float32)
    p, f = nl.mgrid[0:128, 0:16]
    {made}
    {written}
    nl.store(out, t)
    return out
"""
WRITTEN = (
    ("items = [t, t]", "items[1][...] = 0.0"),
    ("items = {'a': t}", "items['a'][0:128, 3] = 1.0"),
    ("items = [[t]]", "items[0][0][:, nl.ds(0, 4)] = 2.0"),
    ("items = [t, t]", "items[0][p, f] = 2.0"),
    ("items = [t, t]", "items[1][...] += 2.0"),
    ("items = [t, t]", "items[1] += 2.0"),
    ("items = [t, t]\n    item = items[0]", "item += 2.0"),
    ("items = [t, t]", "for item in items:\n        item[...] = 1.0"),
    ("items = [t]", "first(items)"),
    ("pair = Pair(t)", "pair.a[...] = 2.0"),
    ("items = [1, 2]", "items[0] = 3.0\n    t[...] = items[0]"),
    ("items = [1, 2]", "items[0] += 3.0\n    t[...] = items[0]"),
    ("items = [1, 2]\n    item = items[0]", "item += 3.0\n    t[...] = item"),
    ("items = {'a': 1}", "items['a'] = items['a'] + 1\n    t[...] = items['a']"),
)


@pytest.mark.parametrize(("made", "written"), WRITTEN)
def test_it_is_written_as_it_was_or_reported(migrate, made, written):
    migration = migrate(KERNEL.format(made=made, written=written), {"x": TensorSpec((128, 16), "float32")})
    assert migration.objection is None
    assert not isinstance(migration.before, Failure)
    assert migration.outcome.findings or migration.trouble == ()
    if "[1, 2]" in made or "1}" in made:
        assert migration.outcome.findings == ()
