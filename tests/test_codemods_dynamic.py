"""Loops on the device, and accesses whose place is only known when the kernel runs."""

from __future__ import annotations

import pytest
from first_rung import rewrite
from nki_migrate.runtime.cases import TensorSpec
from nki_migrate.runtime.compare import Run

HEAD = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
from neuronxcc.nki.typing import scalar


"""
LOOP = HEAD + """\
@nki.jit
def k(x, count):
    out = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.load(x)
    product = nl.zeros((nl.par_dim(64), 64), dtype=nl.float32, buffer=nl.psum)
    place = nl.zeros((1, 1), dtype=nl.int32)
    trips = nl.load(count)
    for i in range(scalar(trips)):
        {body}
    nl.store(out[nl.ds(0, 64), :], value=product)
    return out
"""


@pytest.mark.parametrize(
    "body, what",
    [
        ("product[...] += nisa.nc_matmul(tile, tile)", "'product' is accumulated in a loop on the device"),
        ("return out", "return in a loop on the device"),
        ("place[...] = nl.add(place, i)", "'i' is the index of a loop on the device"),
    ],
)
def test_what_a_loop_on_the_device_cannot_do_is_left_with_a_finding(body, what):
    outcome = rewrite(LOOP.format(body=body))
    assert any(what in finding.message for finding in outcome.findings)
    assert "nl.dynamic_range(0, trips_register, 1)" in outcome.source


def test_python_values_advance_once_in_a_loop_on_the_device(migrate):
    body = "step = step + 1\n        place[...] = nl.add(place, step)"
    source = LOOP.format(body=body).replace("    trips =", "    step = 1\n    trips =")
    source = source.replace("value=product", "value=nl.load(x[nl.ds(0, 64), :])")
    source = source.replace(
        "    return out",
        "    seen = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.shared_hbm)\n"
        "    nl.store(seen, value=place)\n    return out, seen",
    )
    args = {"x": TensorSpec((128, 64), "float32"), "count": TensorSpec((1, 1), "int32", "integers", low=3, high=4)}
    migration = migrate(source, args)
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


WINDOW = HEAD + """\
@nki.jit
def k(table, start):
    n, columns = table.shape
    off = 2
    out = nl.ndarray((32, columns), dtype=table.dtype, buffer=nl.shared_hbm)
    one = nl.ndarray((32, columns), dtype=table.dtype, buffer=nl.shared_hbm)
    first = nl.load(start)
    i_p, i_f = nl.mgrid[0:32, 0:columns]
    nisa.dma_copy(dst=out[i_p, i_f], src=table[3 + first[0, 0] + i_p + off, i_f])
    nisa.dma_copy(dst=one[nl.ds(0, 1), nl.ds(0, columns)], src=table[first[0, 0], nl.ds(0, columns)])
    return out, one
"""


def test_what_is_added_to_an_index_tile_is_the_offset_without_the_tile():
    """The offset was written with the tile in it: ``table.shape[1] * (3 + first[0, 0] + off)``."""
    outcome = rewrite(WINDOW)
    assert outcome.findings == ()
    assert "offset=columns * (3 + off), scalar_offset=first[0:1, 0:1]" in " ".join(outcome.source.split())
    assert outcome.source.count("first[0, 0]") == 0


SKIPPED = HEAD + """\
def rows(table, indices, dst, dtype, count):
    for n in nl.affine_range(count):
        named = indices[nl.arange(32)[:, None], n]
        dst[n, nl.arange(32)[:, None], nl.arange(24)[None, :]] = nl.load(
            table[named, nl.arange(24)[None, :]], dtype=dtype, mode=nisa.oob_mode.skip
        )


@nki.jit
def k(table, rows_of):
    out = nl.ndarray((2, 32, 24), dtype=table.dtype, buffer=nl.shared_hbm)
    indices = nl.load(rows_of)
    dst = nl.zeros((2, nl.par_dim(32), 24), dtype=nl.TILE, buffer=nl.sbuf)
    rows(table, indices, dst, nl.bfloat16, 2)
    for n in nl.affine_range(2):
        nl.store(out[n], dst[n])
    return out
"""


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_a_load_that_skips_rows_converts_once(migrate, dtype):
    args = {
        "table": TensorSpec((50, 24), "float32", "normal"),
        "rows_of": TensorSpec((32, 2), "int32", "integers", low=0, high=70),
    }
    migration = migrate(SKIPPED.replace("TILE", dtype), args)
    assert migration.outcome.findings == ()
    assert (migration.trouble == ()) == (dtype == "bfloat16")
    assert dtype == "bfloat16" or any("is converted once" in text for text in migration.trouble)


PREDICATED = HEAD + """\
@nki.jit
def k(x, chosen, rows):
    out = nl.ndarray((64, 3, 8), dtype=x.dtype, buffer=nl.shared_hbm)
    columns = nl.ndarray((64, 3, 8), dtype=x.dtype, buffer=nl.shared_hbm)
    source = nl.load(x[nl.ds(0, 64), nl.ds(0, 3), nl.ds(0, 8)])
    predicate = nl.load(chosen[nl.ds(0, 64), nl.ds(0, 3)])
    tile = nl.zeros((nl.par_dim(64), 3, 8), dtype=x.dtype)
    nisa.tensor_copy_predicated(src=source, dst=tile, predicate=predicate)
    nl.store(out, value=tile)
    one = nl.load(rows[nl.ds(0, 64), nl.ds(0, 1)])
    nisa.tensor_copy_predicated(src=tile, dst=source, predicate=one)
    nl.store(columns, value=source)
    return out, columns
"""


def test_a_predicate_of_the_first_dimensions_counts_for_all_elements_of_the_others(migrate):
    bits = {"low": 0, "high": 2}
    args = {
        "x": TensorSpec((64, 3, 8), "float32"),
        "chosen": TensorSpec((64, 3), "uint8", "integers", **bits),
        "rows": TensorSpec((64, 1), "uint8", "integers", **bits),
    }
    migration = migrate(PREDICATED, args)
    assert (migration.outcome.findings, migration.objection) == ((), None)
    old, new = migration.before, migration.after
    assert isinstance(old, Run) and isinstance(new, Run), (old, new)
    assert [x.array().tobytes() for x in old.outputs] == [x.array().tobytes() for x in new.outputs]


STORED = HEAD + """\
@nki.jit
def k(x, n):
    out = nl.ndarray((100, 8), dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(2):
        i_p = nl.arange(64)[:, None] + i * 64
        i_f = nl.arange(8)[None, :]
        nl.store(out[i_p, i_f], 7.0, mask=(i_p < n))
    return out
"""


def test_a_number_that_is_stored_fills_a_tile_first(migrate):
    args = {
        "x": TensorSpec((4, 4), "float32"),
        "n": 100,
    }
    migration = migrate(STORED, args)
    assert (migration.outcome.findings, migration.objection) == ((), None)
    old, new = migration.before, migration.after
    assert isinstance(old, Run) and isinstance(new, Run), (old, new)
    assert [x.array().tobytes() for x in old.outputs] == [x.array().tobytes() for x in new.outputs]


PART_OR_COPY = HEAD + """\
@nki.jit
def k(x, flag):
    out = nl.ndarray((64, 8), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x[nl.ds(0, 64), nl.ds(0, 3), nl.ds(0, 8)])
    if flag > 1:
        part = nl.copy(tile[:, 1, :])
    else:
        part = tile[:, 1, :]
    nl.store(out[:, nl.ds(0, 4)], value=part[:, nl.ds(0, 4)])
    return out
"""


@pytest.mark.parametrize("flag", [1, 2])
def test_a_name_for_a_part_in_one_branch_is_not_taken_for_a_tile(migrate, flag):
    migration = migrate(PART_OR_COPY, {"x": TensorSpec((64, 3, 8), "float32", "normal"), "flag": flag})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


CACHE = HEAD + """\
@nki.jit
def k(cache, rows, places):
    batches, slots, columns = cache.shape
    _, n, _ = rows.shape
    out = nl.ndarray((batches, slots, columns), dtype=cache.dtype, buffer=nl.shared_hbm)
    seen = nl.ndarray((batches, n, columns), dtype=cache.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=cache)
    places_sb = nl.load_transpose2d(places)
    for b in nl.static_range(batches):
        tile = nl.load(rows[b])
        place = places_sb[nl.arange(n)[:, None], b]
        nl.store(out[{b}][place, nl.arange(columns)[None, :]], value=tile)
        nl.store(seen[b], value=nl.load(out[{b}][place, nl.arange(columns)[None, :]]))
    return out, seen
"""
CACHE_ARGS = {
    "cache": TensorSpec((2, 16, 32), "float32"),
    "rows": TensorSpec((2, 4, 32), "float32"),
    "places": TensorSpec((2, 4), "int32", "integers", low=0, high=16),
}


@pytest.mark.parametrize("b", ["b", "batches - 1 - b", "0"])
def test_an_index_tile_names_the_rows_of_one_of_several_tensors_in_one(migrate, b):
    migration = migrate(CACHE.replace("{b}", b), CACHE_ARGS)
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert "out.reshape((batches * slots, columns)).ap(" in migration.outcome.source


@pytest.mark.parametrize("part", ["out[b, nl.ds(4, 8)]", "out[b, :, nl.ds(0, 32)][:, :]"])
def test_an_index_tile_of_a_part_of_a_tensor_is_left(part):
    findings = rewrite(CACHE.replace("out[{b}][place", f"{part}[place")).findings
    assert any("an index tile of several rows" in finding.message for finding in findings)


ELEMENTS = HEAD + """\
def element(table, at, mask=None):
    return nl.load(table[at[0, 0]], dtype=nl.int32, mask=mask)


@nki.jit
def k(table, grid, place):
    out = nl.ndarray((4, 1, 1), dtype=nl.int32, buffer=nl.shared_hbm)
    at = nl.load(place[nl.ds(0, 1), nl.ds(0, 1)])
    nl.store(out[0], value=element(table, at))
    nl.store(out[1], value=nl.load(table[at]))
    rows, columns = grid.shape
    nl.store(out[2], value=nl.load(grid[2, at[0, 0]]))
    nl.store(out[3], value=nl.load(grid[at[0, 0], 3]))
    return out
"""
ELEMENT_ARGS = {
    "table": TensorSpec((9,), "int32", "integers", low=0, high=99),
    "grid": TensorSpec((9, 12), "int32", "integers", low=0, high=99),
    "place": TensorSpec((1, 1), "int32", "integers", low=0, high=7),
}


def test_one_element_at_a_place_that_a_tile_tells(migrate):
    migration = migrate(ELEMENTS, ELEMENT_ARGS)
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert 'assert len(table.shape) == 1, "rewritten for 1 dimension"' in migration.outcome.source


def test_what_has_more_dimensions_is_no_element(migrate):
    args = {**ELEMENT_ARGS, "table": TensorSpec((9, 1), "int32", "integers", low=0, high=99)}
    assert any("rewritten for 1 dimension" in text for text in migrate(ELEMENTS, args).trouble)
    told = ELEMENTS.replace("    return nl.load", "    n = table.shape[1]\n    return nl.load")
    assert any("a single element of 'table'" in finding.message for finding in rewrite(told).findings)


def test_what_a_function_returns_that_was_left_alone_is_no_number_to_store():
    outcome = rewrite(ELEMENTS.replace("table[at[0, 0]]", "table[at]").replace("[nl.ds(0, 1), nl.ds(0, 1)]", ""))
    assert "value=element(" in outcome.source and "memset" not in outcome.source
