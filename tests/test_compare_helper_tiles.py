"""Tiles that a helper declares: Beta 1 names each after a variable of the caller, the new kernel after the helper's."""

from __future__ import annotations

import pytest
from first_rung import Options
from nki_migrate.runtime.cases import TensorSpec
from nki_migrate.runtime.compare.layout import compare_layout

SOURCE = """\
import neuronxcc.nki as nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.language as nl


def made(address, count):
    place = ncc.sbuf.mod_alloc(base_addr=address, num_free_tiles=(count,))
    return nl.ndarray((count, nl.par_dim(128), 8), dtype=nl.float32, buffer=place)


@nki.jit
def k(x):
    out = nl.ndarray((4, 128, 8), dtype=nl.float32, buffer=nl.shared_hbm)
    a = made(0, 4)
    b = made(1024, 4)
    for j in nl.affine_range(4):
        a[j] = nl.load(x[:, nl.ds(j * 8, 8)])
        b[j] = nl.multiply(a[j], 2.0)
        nl.store(out[j], b[j])
    return out
"""
ARGS = {"x": TensorSpec((128, 32), "float32", "normal")}


def test_two_variables_of_one_declaration_are_one_list(migrate):
    migration = migrate(SOURCE, ARGS, Options())
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


CHANGES = [("made(0, 4)", "made(64, 4)"), ("made(0, 4)\n    b = made(1024", "made(1024, 4)\n    b = made(0")]


@pytest.mark.parametrize("change", CHANGES)
def test_their_addresses_count(migrate, change):
    migrated = migrate(SOURCE, ARGS, Options())
    moved = migrate(SOURCE.replace(*change), ARGS, Options())
    assert compare_layout(migrated.before, migrated.after).verdict.value == "equal"
    assert compare_layout(migrated.before, moved.after).verdict.value == "different"


HANDED_BACK = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


def least(t, u):
    return nl.{name}(t, u)


@nki.jit
def k(x):
    out = nl.ndarray((64, 16), dtype=nl.float32, buffer=nl.shared_hbm)
    a = nl.load(x, dtype=nl.{dtype})
    b = nl.ndarray((64, 16), dtype=nl.{own})
    b[...] = least(a, a)
    nl.store(out, b)
    return out
"""


@pytest.mark.parametrize("own", ["bfloat16", "float16", "int8"])
@pytest.mark.parametrize("name", ["minimum", "add", "multiply"])
def test_a_float32_that_a_helper_hands_back_and_a_copy_rounds_is_computed_there(migrate, name, own):
    source = HANDED_BACK.format(name=name, dtype="float32", own=own)
    migration = migrate(source, {"x": TensorSpec((64, 16), "float32", "normal")}, Options())
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
