"""Tensors with block dimensions, and names that they were made with which are bound again."""

from __future__ import annotations

import pytest
from first_rung import Options, rewrite
from nki_migrate.runtime.cases import TensorSpec

SOURCE = """\
import numpy as np
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def k(x, bias):
    tiles, rows, columns = x.shape
    out = nl.ndarray((tiles, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    {before}
    column = nl.ndarray(({blocks}, nl.par_dim({rows}), 1), dtype={dtype}, buffer=nl.sbuf)
    for t in nl.affine_range(tiles):
        column[t, :, 0] = nl.load(bias[rows * t : rows * (t + 1)])
    {behind}
    for t in nl.affine_range(tiles):
        tile = nl.load(x[t])
        tile[:, :] = nisa.tensor_scalar(tile, np.add, column[t, :, 0])
        nl.store(out[t], tile)
    return out
"""
RESHAPED = "x = x.reshape((tiles, rows, columns))"
CASES = {
    "its type": ("pass", "tiles", "rows", "x.dtype", RESHAPED),
    "its partitions": ("some = rows", "tiles", "some", "nl.float32", "some = 3"),
    "its blocks": ("some = tiles", "some", "rows", "nl.float32", "some = 3"),
    "its type and its partitions": ("some = rows", "tiles", "some", "x.dtype", f"some = 3\n    {RESHAPED}"),
}


@pytest.mark.parametrize("what", CASES)
@pytest.mark.parametrize("blocks", ["auto", "list", "fold"])
def test_blocks_are_where_they_were_after_a_name_is_bound_again(migrate, what, blocks):
    before, count, rows, dtype, behind = CASES[what]
    source = SOURCE.format(before=before, blocks=count, rows=rows, dtype=dtype, behind=behind)
    given = {"x": TensorSpec((4, 4, 8), "float32", "normal"), "bias": TensorSpec((16,), "float32", "normal")}
    migration = migrate(source, given, Options(blocks=blocks))
    if migration.outcome.findings:  # a folded tensor whose sizes nothing tells any more
        assert blocks == "fold" and what != "its type"
        assert "tensor_scalar(tile, np.add, column[t, :, 0])" in migration.outcome.source
    else:
        assert (migration.objection, migration.trouble) == (None, ())


def test_a_list_is_not_made_with_what_had_its_name_before():
    made = "column = nl.load(bias[0:rows])"
    source = SOURCE.format(before=made, blocks="tiles", rows="column.shape[0]", dtype="x.dtype", behind="pass")
    outcome = rewrite(source)
    declared = source[: source.index("column = nl.ndarray")].count("\n") + 1
    assert (declared, "NKI010") in [(f.line, f.code) for f in outcome.findings]
    assert "column = nl.ndarray((tiles, nl.par_dim(column.shape[0]), 1)" in outcome.source


@pytest.mark.parametrize("holder", ["[column, column]", "(column, 3)"])
def test_a_part_of_what_is_not_known_to_be_a_tensor_is_no_number(holder):
    source = SOURCE.format(
        before="pass", blocks="tiles", rows="rows", dtype="nl.float32", behind=f"held = {holder}"
    ).replace("column[t, :, 0])\n", "held[0][t, :, 0])\n")
    outcome = rewrite(source)
    used = source[: source.index("tile[:, :]")].count("\n") + 1
    assert used in [f.line for f in outcome.findings]
