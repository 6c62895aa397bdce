"""Tiles that branches create with different ranks: each use asserts the rank that it means, and no other."""

from __future__ import annotations

import pytest
from first_rung import rewrite
from nki_migrate.runtime.cases import TensorSpec

KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


def fill(tile, x, deep):
    i_p = nl.arange(64)[:, None]
    i_f = nl.arange(32)[None, :]
    for c in nl.affine_range(2):
        if deep:
            tile[i_p, c, 0, i_f] = nl.load(x[i_p, i_f + c * 32])
        else:
            tile[i_p, c, i_f] = nl.load(x[i_p, i_f + c * 32])


@nki.jit
def k(x, deep):
    out = nl.ndarray((2, 64, 32), dtype=x.dtype, buffer=nl.shared_hbm)
    i_p = nl.arange(64)[:, None]
    i_f = nl.arange(32)[None, :]
    if deep:
        tile = nl.ndarray((nl.par_dim(64), 2, 1, 32), dtype=x.dtype, buffer=nl.sbuf)
    else:
        tile = nl.ndarray((nl.par_dim(64), 2, 32), dtype=x.dtype, buffer=nl.sbuf)
    other = nl.ndarray(tile.shape, dtype=x.dtype, buffer=nl.sbuf)
    fill(tile, x, deep)
    fill(other, x, deep)
    doubled = nl.multiply(tile, 2.0)
    if deep:
        nl.store(out[0], value=nl.add(doubled[i_p, 1, 0, i_f], tile[i_p, 0, 0, i_f]))
        nl.store(out[1], value=other[i_p, 1, 0, i_f])
    else:
        nl.store(out[0], value=nl.add(doubled[i_p, 1, i_f], tile[i_p, 0, i_f]))
        nl.store(out[1], value=other[i_p, 1, i_f])
    {more}
    return out
"""
ARGS = {"x": TensorSpec((64, 64), "float32")}


@pytest.mark.parametrize("deep", [0, 1])
def test_a_tile_of_either_rank_is_used_where_each_rank_is_meant(migrate, deep):
    migration = migrate(KERNEL.format(more=""), {**ARGS, "deep": deep})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert "other = nl.ndarray(tile.shape, dtype=x.dtype" in migration.outcome.source
    assert 'assert len(tile.shape) == 3, "rewritten for 3 dimensions"' in migration.outcome.source


@pytest.mark.parametrize(
    "more",
    [
        "nl.store(out[0], value=tile[:, 0])",
        "nl.store(out[0, :, nl.ds(0, 1)], value=nl.max(tile[:, 0], axis=1))",
        "nl.store(out[0], value=nl.transpose(tile))",
        "square = nl.ndarray((64, 64), dtype=x.dtype)\n    square[...] = nl.load(x)\n"
        "    nl.store(out[0], value=tile[:, :])",
    ],
)
def test_a_tile_of_either_rank_is_never_taken_for_one_of_another(more):
    findings = rewrite(KERNEL.format(more=more)).findings
    assert any("'tile' has 3 or 4 dimensions" in finding.message for finding in findings)


@pytest.mark.parametrize("deep", [0, 1])
def test_a_subscript_that_leaves_out_a_dimension_of_one_rank_asserts_the_other(migrate, deep):
    migration = migrate(KERNEL.format(more="first = nl.max(tile[:, 0, :], axis=1)"), {**ARGS, "deep": deep})
    assert (migration.trouble == ()) == (not deep)
    assert not deep or any("rewritten for 3 dimensions" in text for text in migration.trouble)
