"""Masks: what a mask leaves out, and what it does not concern."""

from __future__ import annotations

import pytest
from nki_migrate.runtime.cases import TensorSpec

KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def k(x, y):
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    i_p = nl.arange(64)[:, None]
    i_f = nl.arange(columns)[None, :]
    for r in nl.static_range((rows + 63) // 64 + 1):
        inside = r * 64 + i_p < rows
        tile = nl.zeros((64, columns), dtype=nl.float32, buffer=nl.sbuf)
        tile[i_p, i_f] = nl.load(x[r * 64 + i_p, i_f], mask=inside)
        nl.store(out[r * 64 + i_p, i_f], value=tile, mask=inside)
        nl.store(out[r * 64 + i_p, i_f], value={value}, mask=inside & (r == 1))
    return out
"""


@pytest.mark.parametrize(
    "value",
    [
        "nl.exp(nl.multiply(tile, 2.0))",
        "nl.load(y[r * 64 + i_p, i_f], mask=inside)",
        "nl.multiply(tile, nl.load(y[r * 64 + i_p, i_f], mask=inside))",
    ],
)
@pytest.mark.parametrize("rows", [1, 64, 65, 130])
def test_the_condition_of_a_store_does_not_stop_the_computation_of_its_value(migrate, value, rows):
    tensor = TensorSpec((rows, 9), "float32", "normal")
    migration = migrate(KERNEL.format(value=value), {"x": tensor, "y": tensor})
    assert migration.outcome.findings == ()
    assert migration.trouble == ()
