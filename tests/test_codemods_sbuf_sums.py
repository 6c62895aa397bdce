"""``tile += nl.matmul(...)`` of a tile in SBUF: the product has a tile in PSUM, and is added."""

from __future__ import annotations

import pytest
from nki_migrate.runtime.cases import TensorSpec

SOURCE = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def k(x, y, s):
    tiles, rows, columns = x.shape
    out = nl.ndarray(s.shape, dtype=nl.float32, buffer=nl.shared_hbm)
    total = {declared}
    for t in nl.sequential_range(tiles):
        a = nl.load(x[t])
        b = nl.load(y[t])
        {statement}
    nl.store(out, value=total)
    return out
"""


@pytest.mark.parametrize("declared", ["nl.load(s)", "nl.zeros((nl.par_dim(64), 48), dtype=nl.float32, buffer=nl.sbuf)"])
@pytest.mark.parametrize(
    "statement",
    [
        "total += nl.matmul(a, b, transpose_x=True)",
        "total[...] += nisa.nc_matmul(a, b)",
        "total[:, :] -= nl.matmul(a, b, transpose_x=True)",
        "total[0:32, 0:40] += nisa.nc_matmul(a[:, 0:32], b[:, 0:40])",
    ],
)
def test_a_product_is_added_to_a_tile_in_sbuf(migrate, declared, statement):
    shapes = {"x": (3, 32, 64), "y": (3, 32, 48), "s": (64, 48)}
    args = {name: TensorSpec(shape, "float32", "normal") for name, shape in shapes.items()}
    migration = migrate(SOURCE.format(declared=declared, statement=statement), args)
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
