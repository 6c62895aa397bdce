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


TRANSPOSED = """\
import numpy as np
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
from nki.language.constants import sizeinbytes


@nki.jit
def k(x):
    shape = x.shape
    rows, columns = int(np.prod(shape[:-1])), shape[-1]
    x = x.reshape((rows, columns))
    out = nl.ndarray((columns, rows), dtype=x.dtype, buffer=nl.shared_hbm)
    wide = 256 // sizeinbytes(x.dtype)
    for t in nl.affine_range((rows + wide - 1) // wide):
        tile = nl.ndarray((wide, columns), dtype=x.dtype, buffer=nl.sbuf)
        turned = nl.ndarray((columns, wide), dtype=x.dtype, buffer=nl.sbuf)
        i = nl.arange(wide)[:, None]
        j = nl.arange(columns)[None, :]
        tile[i, j] = nl.load(x[t * wide + i, j], mask=t * wide + i < rows)
        p = nl.arange(columns)[:, None]
        q = nl.arange(wide)[None, :]
        turned[p, q] = nisa.nc_transpose(tile[i, j], mask=t * wide + i < rows)
        nl.store(out[p, t * wide + q], turned[p, q], mask=t * wide + q < rows)
    return out
"""


def test_a_masked_transpose_into_sbuf_copies_what_the_mask_leaves(migrate):
    migration = migrate(TRANSPOSED, {"x": TensorSpec((3, 50, 20), "float32")})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert "src=transposed_tile[0:columns, 0:i_size]" in migration.outcome.source
    assert "int(product(shape[:-1]))" in migration.outcome.source
    assert "nki.language.constants" not in migration.outcome.source
