"""Results that go into a tile of another type: how often they are rounded is the same before and after."""

from __future__ import annotations

import itertools

import pytest
from examples import sampled
from nki_migrate.runtime.cases import TensorSpec
from nki_migrate.runtime.messages import Failure

KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import numpy as np


@nki.jit
def k(x, y):
    assert len(x.shape) == 2{known}
    out = nl.ndarray(({rows}, {columns}), dtype=nl.{into}, buffer=nl.shared_hbm)
    t = nl.load(x)
    u = nl.load(y)
    d = nl.ndarray((nl.par_dim({rows}), {columns}), dtype=nl.{into}, buffer=nl.sbuf)
    d[...] = {call}
    nl.store(out, d)
    return out
"""
CALLS = (
    "nl.negative(t)",
    "-t",
    "nl.abs(t)",
    "nl.add(t, 1.5)",
    "2 - t",
    "nl.maximum(t, u)",
    "nl.copy(t)",
    "nl.where(nl.greater(t, u), t, u)",
    "nl.sum(t, axis=1)",
    "nl.mean(t, axis=1)",
    "nl.mod(t, 3)",
    "nl.bitwise_and(t, 3)",
    "nisa.tensor_scalar(t, np.subtract, 1.25, True, np.multiply, 2)",
    "nisa.memset((16, 16), 0.1, nl.bfloat16)",
    "nisa.iota(nl.arange(16)[:, None] * 20 + nl.arange(16)[None, :], nl.int32)",
    "nisa.dma_transpose(t)",
    "nisa.nc_transpose(t)",
    "nisa.nc_transpose(t, engine=nisa.vector_engine)",
    "nl.transpose(t)",
)
TYPES = ("float32", "bfloat16", "int32")
ASSERTED = "AssertionError: rewritten for"


@pytest.mark.parametrize(("own", "into"), itertools.product(TYPES, TYPES))
@pytest.mark.parametrize("call", sampled("destination_types", CALLS))
def test_a_result_is_rounded_as_often_as_it_was(migrate, call, own, into):
    columns = 1 if "axis" in call else 16
    args = {name: TensorSpec((16, 16), own, "integers" if own == "int32" else "normal") for name in "xy"}
    for known in ("", f"\n    assert x.dtype == nl.{own} and y.dtype == nl.{own}"):
        source = KERNEL.format(call=call, into=into, rows=16, columns=columns, known=known)
        migration = migrate(source, args)
        assert migration.objection is None
        if isinstance(migration.before, Failure) or migration.outcome.findings:
            continue
        if isinstance(migration.after, Failure) and ASSERTED in migration.after.message:
            continue
        assert migration.trouble == ()


@pytest.mark.parametrize("call", ("nl.bitwise_and(t, 3)", "nl.left_shift(t, 1)", "t | u", "~t"))
def test_bits_do_not_go_into_floating_point_numbers(migrate, call):
    args = {name: TensorSpec((16, 16), "int32", "integers") for name in "xy"}
    before = migrate(KERNEL.format(call=call, into="float32", rows=16, columns=16, known=""), args).before
    assert isinstance(before, Failure) and "its destination is float32" in before.message
    source = KERNEL.format(call=call, into="uint32", rows=16, columns=16, known="")
    migration = migrate(source, args)
    assert migration.outcome.findings or migration.trouble == ()


@pytest.mark.parametrize("place", ("out", "out[0:8, nl.ds(4, 8)]", "out[p, f]", "out[p, f], mask=f < 5, value="))
def test_a_number_that_is_stored_fills_a_tile_first(migrate, place):
    given = f"{place}1.5" if place.endswith("=") else f"{place}, 1.5"
    source = KERNEL.format(call="t", into="bfloat16", rows=16, columns=16, known="").replace(
        "    return out", f"    p, f = nl.mgrid[0:16, 0:16]\n    nl.store({given})\n    return out"
    )
    migration = migrate(source, {name: TensorSpec((16, 16), "bfloat16") for name in "xy"})
    assert migration.outcome.findings == ()
    assert migration.trouble == ()
