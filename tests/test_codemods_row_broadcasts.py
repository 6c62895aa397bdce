"""Tiles of which only a trace tells whether they have one row or all, and tensors in fields of objects."""

from __future__ import annotations

import pytest
from first_rung import rewrite
from nki_migrate.runtime.cases import TensorSpec

HELPERS = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


def spread(weights, rows, columns):
    tile = nl.load(weights.scale)
    wide = tile.broadcast_to([rows, columns])
    return wide


def shifted(x, offset, rows):
    part = x
    if offset is not None:
        assert offset.shape == x.shape
        i_p, i_f = nl.mgrid[0:rows, 0:x.shape[-1]]
        part = nl.add(x, nl.load(offset[i_p, i_f]))
    return part
"""
KERNEL = HELPERS + """\


@nki.jit
def k(x, scale, weights, plain):
    rows, columns = x.shape
    out = nl.ndarray((2, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    given = nl.load(x)
    nl.store(out[0], value=nl.multiply(given, spread(weights, rows, columns)))
    if plain:
        nl.store(out[1], value=shifted(given, None, rows))
    else:
        nl.store(out[1], value=shifted(given, weights.shift, rows))
    return out
"""


def test_what_is_loaded_from_a_field_of_an_object_is_a_tensor_in_hbm():
    outcome = rewrite(KERNEL)
    assert outcome.findings == ()
    assert "nisa.dma_copy(dst=tile, src=weights.scale)" in outcome.source
    assert "wide = spread_tile" in outcome.source and "on_rows(tile, rows)" in outcome.source


def test_a_field_that_may_change_gets_a_name_before_it_is_loaded():
    source = HELPERS.replace("    wide = tile", "    weights.scale = None\n    wide = tile")
    text = rewrite(source).source
    assert "scale = weights.scale\n" in text and "dst=tile, src=scale)" in text


ROWS = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


def spread(row, rows, columns):
    tile = nl.load(row)
    return tile.broadcast_to([rows, columns])


@nki.jit
def k(x, row):
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    wide = spread(row, rows, columns)
    nl.store(out, value=nl.multiply(nl.load(x), wide))
    return out
"""


@pytest.mark.parametrize("rows", [1, 48, 128])
@pytest.mark.parametrize("given", [1, None])
def test_one_row_goes_to_all_partitions_and_several_stay(migrate, rows, given):
    args = {"x": TensorSpec((rows, 32), "float32"), "row": TensorSpec((given or rows, 32), "float32")}
    migration = migrate(ROWS, args)
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


@pytest.mark.parametrize("shape", [(1, 1), (128, 1), (1, 1, 32)])
def test_any_other_broadcast_ends_with_an_assertion(migrate, shape):
    migration = migrate(ROWS, {"x": TensorSpec((128, 32), "float32"), "row": TensorSpec(shape, "float32")})
    assert any(text.startswith("after: error") and "rewritten for" in text for text in migration.trouble)


def test_a_tile_that_is_written_behind_its_broadcast_is_left():
    source = ROWS.replace(
        "    return tile.broadcast_to([rows, columns])",
        "    wide = tile.broadcast_to([rows, columns])\n    tile[0, 0] = 1.0\n    return wide",
    )
    assert any("written again later" in finding.message for finding in rewrite(source).findings)


@pytest.mark.parametrize("shape", [(1, 40), (64, 1), (64, 40), (1, 1)])
@pytest.mark.parametrize("load", ["nl.load(w)", "nl.load(w[:, :])", "nl.exp(nl.load(w))"])
@pytest.mark.parametrize("told", ["", "    one, other = w.shape\n"])
def test_what_only_a_trace_tells_of_a_broadcast_by_the_function(migrate, told, load, shape):
    source = f"""\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def k(x, w):
    rows, columns = x.shape
{told}    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    weight = {load}
    wide = nl.broadcast_to(weight, shape=(rows, columns))
    nl.store(out, nl.multiply(nl.load(x), wide))
    return out
"""
    given = {"x": TensorSpec((64, 40), "float32", "normal"), "w": TensorSpec(shape, "float32", "normal")}
    migration = migrate(source, given)
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


@pytest.mark.parametrize("shape", [(1, 3, 5), (1, 1, 5), (1, 3, 1), (1, 1, 1)])
@pytest.mark.parametrize("rows", [1, 20, 70])
@pytest.mark.parametrize("wide", ["nl.broadcast_to(one, shape=({rows}, 3, 5))", "one.broadcast_to(({rows}, 3, 5))"])
def test_a_row_of_several_free_dimensions_goes_to_all_partitions(migrate, wide, rows, shape):
    part = ", ".join(f"0:{size}" for size in shape)
    source = f"""\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def k(x, w):
    out = nl.ndarray(({rows}, 3, 5), dtype=nl.float32, buffer=nl.shared_hbm)
    one = nl.load(w[{part}])
    wide = {wide.format(rows=rows)}
    nl.store(out, nl.multiply(nl.load(x[0:{rows}, 0:3, 0:5]), wide))
    return out
"""
    given = {"x": TensorSpec((rows, 3, 5), "float32", "normal"), "w": TensorSpec(shape, "float32", "normal")}
    migration = migrate(source, given)
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
