"""Types that only a trace tells: the output asserts what it was written for (floats divided, one conversion)."""

from __future__ import annotations

import pytest
from first_rung import Options
from nki_migrate.runtime.cases import TensorSpec

KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


def divided(tile, n):
    return {division}


@nki.jit
def k(x, n=4):
    out = nl.ndarray(x.shape, dtype={out}, buffer=nl.shared_hbm)
    tile = nl.load(x)
    nl.store(out, value={division})
    nl.store(out, value=divided(tile, n))
    return out
"""


@pytest.mark.parametrize("division", ["tile / 2", "1 / tile", "nl.divide(tile, 4)", "tile / n", "tile / tile"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32", "uint8"])
def test_the_output_refuses_integers_where_it_was_written_for_floats(migrate, division, dtype):
    source = KERNEL.format(division=division, out="nl.float32")
    migration = migrate(source, {"x": TensorSpec((16, 8), dtype, "positive")}, Options(unsafe=True))
    assert not [f for f in migration.outcome.findings if f.applicability == "manual"]
    if dtype in ("int32", "uint8"):
        assert any("rewritten for floats" in text for text in migration.trouble)
    else:
        assert not [text for text in migration.trouble if text.startswith("numbers")]


@pytest.mark.parametrize("division", ["tile / 2.0", "1.0 / tile", "nl.divide(tile, 4, dtype=nl.float32)"])
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_a_result_that_is_float_in_any_case_needs_no_assertion(migrate, division, dtype):
    source = KERNEL.format(division=division, out="nl.float32")
    migration = migrate(source, {"x": TensorSpec((16, 8), dtype, "positive")})
    assert "is_float" not in migration.outcome.source
    assert not [text for text in migration.trouble if text.startswith("numbers")]


HEAD = """\
import neuronxcc.nki as nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@ncc.skip_middle_end_transformations
@nki.jit
def k(x, y):
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.ndarray((nl.par_dim(rows), columns), dtype=x.dtype, buffer=ncc.sbuf.mod_alloc(base_addr=0))
    tile[...] = nl.load(x)
    kept = nl.ndarray((nl.par_dim(rows), columns), dtype=nl.bfloat16, buffer=ncc.sbuf.mod_alloc(base_addr=4096))
"""
PINNED = HEAD + """\
    kept[...] = nisa.tensor_copy(tile, dtype={dtype})
    nl.store(out, value=kept)
    return out
"""


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "int32"])
@pytest.mark.parametrize("written", ["nl.float32", "nl.bfloat16", "nl.int32", "y.dtype"])
def test_a_tile_with_an_address_gets_a_result_that_is_converted_once(migrate, written, dtype):
    shapes = {"x": TensorSpec((16, 8), "float32", "normal"), "y": TensorSpec((16, 8), dtype, "normal")}
    migration = migrate(PINNED.format(dtype=written), shapes)
    if written == "nl.int32":
        assert any("is converted twice" in f.message for f in migration.outcome.findings)
    elif written == "y.dtype" and dtype in ("float16", "int32"):
        assert any("which is converted once" in text for text in migration.trouble)
    else:
        assert (migration.outcome.findings, migration.trouble) == ((), ())


LOOPS = HEAD + """\
    # twice
    for i in nl.affine_range(2):
        for j in nl.affine_range(2):
            {inner}
    for i in nl.affine_range(2):
        kept[...] = nisa.tensor_copy(tile, dtype=y.dtype)
    nl.store(out, value=kept)
    return out
"""
COPY = "kept[...] = nisa.tensor_copy(tile, dtype=y.dtype)"


def test_what_loops_assert_of_parameters_stands_once_before_the_first(migrate):
    shapes = {"x": TensorSpec((16, 8), "float32", "normal"), "y": TensorSpec((16, 8), "bfloat16", "normal")}
    migration = migrate(LOOPS.format(inner=COPY), shapes)
    assert (migration.outcome.findings, migration.trouble) == ((), ())
    before, _, after = migration.outcome.source.partition("    assert ")
    assert "for i in" not in before
    assert "which is converted once" in after.partition("for i in")[0]
    assert "assert" not in after


def test_what_a_condition_asserts_stays_under_it(migrate):
    shapes = {"x": TensorSpec((16, 8), "float32", "normal"), "y": TensorSpec((16, 8), "bfloat16", "normal")}
    migration = migrate(LOOPS.format(inner=f"if rows > 8:\n                {COPY}"), shapes)
    assert (migration.outcome.findings, migration.trouble) == ((), ())
    lines = [line for line in migration.outcome.source.splitlines() if line.lstrip().startswith("assert ")]
    assert [len(line) - len(line.lstrip()) for line in lines] == [16, 4]
