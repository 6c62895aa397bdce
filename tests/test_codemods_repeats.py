"""Operands and results of one column, or one row, in a larger place: Beta 1 repeats them, Beta 2 repeats nothing."""

from __future__ import annotations

import pytest
from nki_migrate.runtime.cases import TensorSpec

KERNEL = """\
import numpy as np
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def k(x, scale):
    p, n = x.shape
    out = nl.ndarray((p, n), dtype=x.dtype, buffer=nl.shared_hbm)
    {body}
    return out
"""
ARGS = {"x": TensorSpec((6, 10), "float32", "normal"), "scale": TensorSpec((6, 1), "float32", "uniform")}


def kernel(*lines: str) -> str:
    return KERNEL.format(body="\n    ".join(lines))


def numbers_are_equal(migration) -> bool:
    """Without a finding, whatever instructions compute them."""
    others = [line for line in migration.trouble if not line.startswith((" ", "operands: different"))]
    return (migration.outcome.findings, migration.objection, others) == ((), None, [])


@pytest.mark.parametrize("operation", ["tile, column", "column, tile"])
@pytest.mark.parametrize("form", ["nisa.tensor_tensor({}, op=np.subtract)", "nl.subtract({})"])
@pytest.mark.parametrize("place", ["result = ", "result = nl.ndarray(x.shape, dtype=x.dtype)\n    result[...] = "])
@pytest.mark.parametrize("shape", [(6, 10), (6, 1)])
def test_a_column_beside_a_tile_whose_shape_is_not_known(migrate, operation, form, place, shape):
    lines = ["column = nl.load(scale[0:p, 0:1])", "tile = nl.load(x)", place + form.format(operation)]
    source = kernel(*lines, "nl.store(out, result)")
    migration = migrate(source, {**ARGS, "x": TensorSpec(shape, "float32", "normal")})
    assert numbers_are_equal(migration)


@pytest.mark.parametrize("operation", ["tile, other", "other, tile"])
@pytest.mark.parametrize("form", ["nisa.tensor_tensor({}, op=np.subtract)", "nl.subtract({})", "nl.multiply({})"])
@pytest.mark.parametrize("other", ["nl.load(scale)", "nl.exp(nl.load(scale))"])
@pytest.mark.parametrize("shape", [(6, 10), (6, 1)])
def test_a_tile_beside_one_that_is_loaded_whole(migrate, operation, form, other, shape):
    lines = ["tile = nl.load(x[0:6, 0:10])", f"other = {other}", f"result = {form.format(operation)}"]
    migration = migrate(
        kernel(*lines, "nl.store(out, result)"), {**ARGS, "scale": TensorSpec(shape, "float32", "normal")}
    )
    assert numbers_are_equal(migration)


COLUMN = "column = nl.load(scale[0:p, 0:1])"


@pytest.mark.parametrize(
    "lines",
    [
        [COLUMN, "nl.store(out[0:p, 0:n], column)"],
        [COLUMN, "nl.store(out[0:6, 0:10], column)"],
        [COLUMN, "tile = nl.ndarray((nl.par_dim(p), n), dtype=x.dtype)", "tile[...] = nl.copy(column)"],
        ["tile = nl.ndarray((nl.par_dim(p), n), dtype=x.dtype)", "tile[...] = nl.load(scale[0:p, 0:1])"],
        ["tile = nl.ndarray((nl.par_dim(p), n), dtype=x.dtype)", "tile[...] = nl.load(x[0:1, 0:n])"],
        [
            "tile = nl.load(x)",
            COLUMN,
            "i_p, i_f = nl.arange(p)[:, None], nl.arange(n)[None, :]",
            "nl.store(out[i_p, i_f], nl.load(x[i_p, i_f]))",
            "nl.store(out[i_p, i_f], column, mask=i_f < n - 3)",
            "nl.store(out[i_p, i_f], column, mask=i_p < p - 4)",
        ],
    ],
)
def test_a_copy_repeats_a_column_and_a_load_a_row(migrate, lines):
    last = [] if "store" in lines[-1] else ["nl.store(out, tile)"]
    migration = migrate(kernel(*lines, *last), ARGS)
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert "[0, " in migration.outcome.source


PINNED = """\
import numpy as np
import neuronxcc.nki as nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def k(x):
    blocks, p, n = x.shape
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    columns = nl.ndarray((blocks, nl.par_dim(p), 1), dtype=x.dtype, buffer=ncc.sbuf.mod_alloc(base_addr=0))
    tiles = nl.ndarray((blocks, nl.par_dim(p), n), dtype=x.dtype, buffer=ncc.sbuf.mod_alloc(base_addr=512))
    for i in nl.affine_range(blocks):
        columns[i] = nl.load(x[i, 0:p, 0:1])
        tiles[i] = {value}
        nl.store(out[i], tiles[i])
    return out
"""


def test_a_copy_into_a_tile_with_an_address_repeats_a_column(migrate):
    source = PINNED.format(value="nl.copy(columns[i])")
    migration = migrate(source, {"x": TensorSpec((2, 6, 10), "float32", "normal")})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert "tiles[i, " not in migration.outcome.source and "[0, n]" in migration.outcome.source


def test_no_tile_without_an_address_joins_those_that_have_one(migrate):
    source = PINNED.format(value="nisa.tensor_scalar(columns[i], np.multiply, 2.0)").replace("p), n)", "p), 10)")
    outcome = migrate(source, {"x": TensorSpec((2, 6, 10), "float32", "normal")}).outcome
    assert [f.message for f in outcome.findings] == ["an intermediate tile in a kernel that allocates its tiles itself"]


@pytest.mark.parametrize("value", ["nl.exp(column)", "column * 3.0", "nl.max(tile, axis=1, keepdims=True)"])
@pytest.mark.parametrize("dtype", ["x.dtype", "nl.bfloat16", "nl.float32"])
def test_a_computed_column_gets_a_tile_of_the_type_that_it_is_rounded_to(migrate, value, dtype):
    lines = ["tile = nl.load(x[0:6, 0:10])", COLUMN, f"wide = nl.ndarray((nl.par_dim(6), 10), dtype={dtype})"]
    source = kernel(*lines, f"wide[...] = {value}", "nl.store(out, wide)")
    half = {"x": TensorSpec((6, 10), "bfloat16", "normal"), "scale": TensorSpec((6, 1), "bfloat16", "uniform")}
    for args in (ARGS, half):
        assert migrate(source, args).trouble == ()


@pytest.mark.parametrize(
    "value",
    [
        "nisa.iota(nl.arange(10)[None, :], dtype=x.dtype)",
        "nisa.iota(nl.arange(10)[None, :], dtype=nl.int32)",
        "nisa.iota(nl.arange(1)[:, None] * 5 + nl.arange(10)[None, :], dtype=nl.float32)",
        "nisa.iota(nl.arange(p)[:, None] * 5 + nl.arange(10)[None, :], dtype=nl.int32)",
        "nisa.iota(nl.arange(6)[:, None], dtype=nl.int32)",
        "nisa.memset((1, 10), 3, dtype=nl.int32)",
        "nisa.memset((6, 1), 3, dtype=x.dtype)",
        "nl.full((6, 10), 2.0, x.dtype)",
    ],
)
def test_what_has_no_operand_fills_all_partitions(migrate, value):
    lines = ["wide = nl.ndarray((nl.par_dim(6), 10), dtype=x.dtype)", f"wide[...] = {value}", "nl.store(out, wide)"]
    migration = migrate(kernel(*lines), ARGS)
    assert numbers_are_equal(migration)


def test_an_iota_of_several_partitions_has_those_of_its_place(migrate):
    value = "nisa.iota(nl.arange(rows)[:, None] * 5 + nl.arange(10)[None, :], dtype=nl.float32)"
    lines = ["wide = nl.ndarray((nl.par_dim(6), 10), dtype=x.dtype)", f"wide[...] = {value}", "nl.store(out, wide)"]
    source = kernel(*lines).replace("k(x, scale)", "k(x, scale, rows)")
    assert numbers_are_equal(migrate(source, {**ARGS, "rows": 6}))
    assert any("as many partitions as its place" in line for line in migrate(source, {**ARGS, "rows": 1}).trouble)


@pytest.mark.parametrize("line", ["nl.store(out[0:6, 0:10], row)", "wide[...] = nl.copy(row)", "wide[...] = row * 2.0"])
def test_one_partition_in_the_place_of_several_is_left_under_a_finding(migrate, line):
    wide = "wide = nl.ndarray((nl.par_dim(6), 10), dtype=x.dtype)"
    outcome = migrate(kernel("row = nl.load(x[0:1, 0:10])", wide, line), ARGS).outcome
    assert [f.message for f in outcome.findings] == ["a result of one partition in a place of several"]
    assert line in outcome.source


@pytest.mark.parametrize(
    "total",
    [
        "total = nl.sum(both, axis=[1, 2])",
        "total = nisa.tensor_reduce(np.add, both, axis=(1, 2))",
        "total = nl.zeros((nl.par_dim(6), 1), dtype=nl.float32)\n"
        "    wide = nisa.activation_reduce(np.exp, both, reduce_op=np.add, reduce_res=total)",
    ],
)
@pytest.mark.parametrize(
    "first", ["nl.load(x)", "nl.load(x[0:6, 0:4]).reshape((6, 4, 1))", "nl.load(x[0:p, 0:m, 0:1]).reshape((p, m, l))"]
)
def test_shapes_that_a_sum_would_hide_are_asserted_to_be_one(migrate, total, first):
    known = "l)" in first
    sizes = "m, l = x.shape[1], x.shape[2]\n    q, s, t = scale.shape" if known else ""
    second = "nl.load(scale)"
    source = kernel(sizes, f"both = nl.multiply({first}, {second})", total, "nl.store(result, total)")
    source = source.replace("out = nl.ndarray((p, n)", "result = nl.ndarray((6, 1)").replace(
        "return out", "return result"
    )
    source = source.replace("p, n = x.shape", "p = x.shape[0]")
    deep, flat = TensorSpec((6, 4, 1), "float32", "normal"), TensorSpec((6, 4), "float32", "normal")
    x = flat if "reshape((6" in first else deep
    migration = migrate(source, {"x": x, "scale": deep})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    broadcast = migrate(source, {"x": x, "scale": TensorSpec((6, 1, 4), "float32", "normal")})
    assert any("rewritten for tiles of one shape" in line for line in broadcast.trouble)


def test_shapes_that_nothing_hides_are_not_asserted(migrate):
    source = kernel("both = nl.load(x) * nl.load(scale)", "nl.store(out, both)")
    same = {**ARGS, "scale": TensorSpec((6, 10), "float32", "normal")}
    migration = migrate(source, same)
    own = migration.outcome.source.partition("def k(")[2]
    assert numbers_are_equal(migration) and own.count("assert") == own.count("assert x.dtype == scale.dtype") == 1
