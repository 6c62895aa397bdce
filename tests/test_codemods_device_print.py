"""``nl.device_print`` of tiles, of their parts, and of what is computed for it."""

from __future__ import annotations

import pytest
from first_rung import rewrite
from nki_migrate.runtime.cases import TensorSpec

SOURCE = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def k(x):
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    i_p = nl.arange(2)[:, None]
    i_f = nl.arange(3)[None, :]
    tile = nl.load(x)
    nl.device_print({printed})
    nl.store(out, value=tile)
    return out
"""


@pytest.mark.parametrize(
    ("printed", "new"),
    [
        ('"tile", tile', '"tile", tile'),
        ('prefix="tile", x=tile', '"tile", tile'),
        ('f"rows {rows}", tile', 'f"rows {rows}", tile'),
        ('"part", tile[0:2, 0:3]', '"part", tile[0:2, 0:3]'),
        ('"part", tile[i_p, i_f]', '"part", tile[0:2, 0:3]'),
        ('"twice", nl.add(tile, tile)', '"twice", add_tile'),
    ],
)
def test_a_tile_is_printed(migrate, printed, new):
    migration = migrate(SOURCE.format(printed=printed), {"x": TensorSpec((8, 4), "float32", "normal")})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert f"nl.device_print({new})" in migration.outcome.source


@pytest.mark.parametrize("printed", ['"masked", tile, mask=i_f < 2', '"in HBM", x', '"a number", 3'])
def test_what_cannot_be_printed_so_is_left_under_a_finding(printed):
    assert rewrite(SOURCE.format(printed=printed)).findings
