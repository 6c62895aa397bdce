"""Parameters that nothing but a subscript with index vectors, or the place of a load, tells to be tensors."""

from __future__ import annotations

import pytest
from first_rung import rewrite
from nki_migrate.runtime.cases import TensorSpec

HEAD = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


"""
HELPERS = HEAD + """\
def row_of(table, place, columns):
    i_p = nl.arange(1)[:, None]
    i_f = nl.arange(columns)[None, :]
    return nl.load(table[place[i_p, 0], i_f])


def doubled(tile, rows, columns):
    i_p, i_f = nl.mgrid[0:rows, 0:columns]
    return nl.multiply(tile[i_p, i_f], 2.0, dtype=nl.float32)


def part_of(x, rows, columns, first=0):
    i_f = nl.arange(columns)[None, :]
    part = x[nl.arange(rows)[:, None], first + i_f]
    return nl.load(part)
"""
CALLS = """\


@nki.jit
def k(table, place):
    out = nl.ndarray((3, 1, 64), dtype=nl.float32, buffer=nl.shared_hbm)
    at = nl.load(place)
    row = row_of(table, at, 64)
    nl.store(out[0], value=row)
    nl.store(out[1], value=doubled(row, 1, 64))
    nl.store(out[2, :, nl.ds(0, 32)], value=part_of(table, 1, 32, 16))
    nl.store(out[2, :, nl.ds(32, 32)], value=part_of(table, 1, 32))
    return out
"""
ARGS = {"table": TensorSpec((8, 64), "float32"), "place": TensorSpec((1, 1), "int32", "integers", low=0, high=8)}


def test_what_index_vectors_take_elements_of_is_a_tensor():
    outcome = rewrite(HELPERS)
    assert outcome.findings == ()
    assert "scalar_offset=place[0:1, 0:1]" in outcome.source
    assert "data=tile[0:rows, 0:columns]" in outcome.source
    assert "x[0:rows, nl.ds(first, columns)]" in outcome.source


def test_calls_tell_the_same_tensors(migrate):
    migration = migrate(HELPERS + CALLS, ARGS)
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert "scalar_offset=place" in migration.outcome.source


def test_a_number_whose_name_a_tensor_takes_later_is_no_tensor():
    body = "x = nl.load(table[x])\n    return nl.multiply(x[i_p, i_f], 2.0)"
    outcome = rewrite(HEAD + f"def f(table, x):\n    i_p, i_f = nl.mgrid[0:8, 0:64]\n    {body}\n")
    assert "src=table[x]" in outcome.source and "x.shape" not in outcome.source


STEPS = HEAD + """\
def stepped(x, place, out, rows, columns):
    buffer = nl.ndarray((nl.par_dim(rows), columns), dtype=nl.float32)
    buffer[...] = nl.load(x[place[0, 0]])
    nl.store(out, value=buffer)


@nki.jit
def k(x, first, given):
    out = nl.ndarray((2, 16, 64), dtype=nl.float32, buffer=nl.shared_hbm)
    place = nl.load(first)
    if given:
        steps = x
    else:
        steps = x.reshape((4, 16, 64))
    stepped(steps, place, out[0], 16, 64)
    place[...] = nl.add(place, 1)
    stepped(steps, place, out[1], 16, 64)
    return out
"""
STEP_ARGS = {"x": TensorSpec((4, 16, 64), "float32"), "first": TensorSpec((1, 1), "int32", "integers", low=0, high=3)}


@pytest.mark.parametrize("given", [0, 1])
def test_the_place_of_a_load_tells_the_rank_of_its_tensor(migrate, given):
    migration = migrate(STEPS, {**STEP_ARGS, "given": given})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert 'assert len(x.shape) == 3, "rewritten for 3 dimensions"' in migration.outcome.source


def test_the_rank_is_not_told_where_an_index_tile_names_rows():
    rows = "buffer[...] = nl.load(x[rows_of])"
    source = STEPS.replace("buffer[...] = nl.load(x[place[0, 0]])", f"rows_of = nl.load(place)\n    {rows}")
    outcome = rewrite(source.replace("place = nl.load(first)", "place = first"))
    assert outcome.findings and rows in outcome.source
