"""Transposes: which engine reads them from where, and what it writes them to."""

from __future__ import annotations

import pytest
from nki_migrate.runtime.cases import TensorSpec
from nki_migrate.runtime.messages import Failure

KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def k(x):
    rows, columns = x.shape
    loaded = nl.load(x)
    out = nl.ndarray((columns, rows), dtype=x.dtype, buffer=nl.shared_hbm)
    data = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.{source})
    data[...] = nl.copy(loaded)
    engine = nisa.vector_engine
{turned}    nl.store(out, value=turned)
    return out
"""
BOUND = "    turned = {call}\n"
PLACED = "    turned = nl.ndarray((columns, rows), dtype=x.dtype, buffer=nl.{place})\n    turned[...] = {call}\n"


@pytest.mark.parametrize("shape", [(32, 32), (16, 8), (64, 32), (32, 128), (128, 128)])
@pytest.mark.parametrize("source", ["sbuf", "psum"])
@pytest.mark.parametrize(
    "call",
    [
        "nisa.nc_transpose(data)",
        "nisa.nc_transpose(data, engine=nisa.vector_engine)",
        "nisa.nc_transpose(data, engine=nisa.tensor_engine)",
        "nisa.nc_transpose(data, engine=engine)",
        "nl.transpose(data)",
    ],
)
@pytest.mark.parametrize("place", ["", "sbuf", "psum"])
def test_a_transpose_runs_where_it_ran(migrate, shape, source, call, place):
    turned = PLACED.format(place=place, call=call) if place else BOUND.format(call=call)
    migration = migrate(KERNEL.format(source=source, turned=turned), {"x": TensorSpec(shape, "float32", "normal")})
    assert migration.objection is None
    if isinstance(migration.before, Failure):
        small = shape == (32, 32) or shape == (16, 8)
        assert ("vector" in call or "engine=engine" in call) == ("Vector Engine" in migration.before.message)
        assert not small or ("tensor_engine" in call and source == "psum")
        noted = [a.text for a in migration.outcome.asserted if "<= 32" in a.text]
        assert not isinstance(migration.after, Failure) or noted or "Vector Engine" in migration.before.message
        return
    assert migration.outcome.findings == () and migration.trouble == ()
