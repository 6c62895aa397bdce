"""Statements under one guard share one ``if``; what is declared between them stands before it."""

from __future__ import annotations

import pytest
from first_rung import rewrite
from nki_migrate.runtime.cases import TensorSpec

KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def k(x, some):
    out = nl.ndarray((128, 8), dtype=x.dtype, buffer=nl.shared_hbm)
    other = nl.load(x[0:128, 0:8])
    # all of it
    tile = nl.load(x[0:128, 0:8], mask=some > 1)
    # and twice that
    BODY
    nl.store(out, double, mask=some > 1)
    nl.store(out, other, mask=some < 2)
    return out
"""
ONE = "double = nl.add(tile, tile, mask=some > 1)"


@pytest.mark.parametrize("some", [1, 2])
def test_declarations_stand_before_one_condition_with_the_comments_in_it(migrate, some):
    migration = migrate(KERNEL.replace("BODY", ONE), {"x": TensorSpec((128, 8), "float32"), "some": some})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    output = migration.outcome.source
    assert output.count("if some > 1:\n") == 1
    above, _, below = output.partition("    if some > 1:\n")
    assert "    # all of it\n    double = nl.ndarray(" not in above and above.count("= nl.ndarray(") == 4
    assert "        # and twice that\n        nisa.tensor_tensor(" in below


@pytest.mark.parametrize(
    "body",
    [
        f"number = some + 1\n    {ONE}",
        f"print(some)\n    {ONE}",
        "tile = nl.add(tile, tile, mask=some > 1)\n    double = tile",
    ],
    ids=["a number", "a call", "a name of what is computed before"],
)
def test_others_keep_their_place(body):
    output = rewrite(KERNEL.replace("BODY", body)).source
    assert output.count("if some > 1:\n") > 1
