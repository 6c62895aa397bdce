"""Shapes and reductions that only a trace tells, and what a ``with`` holds."""

from __future__ import annotations

import pytest
from first_rung import rewrite
from nki_migrate.runtime.cases import TensorSpec

HEADER = """\
import numpy as np
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


"""
KERNEL = """\


@nki.jit
def k(x, axes):
    partitions, planes, columns = x.shape
    out = nl.ndarray((partitions, planes * columns), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.load(x)
    result = f(tile, axes)
    nl.store(out[:, 0 : result.shape_2d[1]], result.reshape((partitions, result.shape_2d[1])))
    return out
"""
SUM = "nisa.tensor_reduce(np.add, data=tile, axis=axes, dtype=nl.float32)"
X = TensorSpec((6, 3, 3), "float32", "normal")


def module(*body: str) -> str:
    return HEADER + "\n    ".join(["def f(tile, axes):", *body]) + "\n" + KERNEL


@pytest.mark.parametrize("axes", [[1, 2], [2], [-1], [-2, -1], [2, 1], 2, -1])
@pytest.mark.parametrize(
    "body",
    [
        [f"return {SUM}"],
        ["return nl.max(nl.copy(tile), axes)"],
        ["return nisa.tensor_reduce(np.max, tile, axes, negate=True)"],
        ["total = nl.zeros(tile.shape, dtype=nl.float32)", f"total = {SUM}", "return nl.multiply(total, 2.0)"],
        [f"total = {SUM}", "return nl.subtract(total, total)"],
    ],
)
def test_axes_that_a_parameter_names_are_reduced(migrate, body, axes):
    migration = migrate(module(*body), {"x": X, "axes": axes})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert "reduced_axes(tile.shape, axes)" in migration.outcome.source or "reduced_axes(" in migration.outcome.source


@pytest.mark.parametrize("axes", [[1], 1, [-2], [0], [1, 1], [3], [2, 2]])
def test_other_axes_than_the_last_ones_end_the_kernel(migrate, axes):
    migration = migrate(module(f"return {SUM}"), {"x": X, "axes": axes})
    assert (migration.outcome.findings, migration.objection) == ((), None)
    assert any(line.startswith("after: error") and "reduced_axes" in line for line in migration.trouble)


def test_a_reduction_into_a_tile_names_the_axes_too(migrate):
    body = [
        "total = nl.ndarray((tile.shape[0], tile.shape[1]), dtype=nl.float32)",
        f"total[...] = {SUM}",
        "return total",
    ]
    assert migrate(module(*body), {"x": X, "axes": [2]}).trouble == ()
    wrong = migrate(module(*body), {"x": X, "axes": [1]})
    assert any("written for reductions over the last dimensions" in line for line in wrong.trouble)


@pytest.mark.parametrize(
    "axis",
    ["tuple(range(total.ndim, tile.ndim))", "list(range(total.ndim, tile.ndim))", "axis=tile.ndim - 1", "-1", "[2]"],
)
@pytest.mark.parametrize("operator", ["subtract", "add", "maximum"])
@pytest.mark.parametrize("order", ["tile, total", "total, tile"])
def test_a_sum_is_repeated_over_what_it_reduced(migrate, axis, operator, order):
    body = [f"total = {SUM}", f"total = total.expand_dims({axis})", f"return nl.{operator}({order})"]
    migration = migrate(module(*body), {"x": X, "axes": [1, 2]})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert "combined(" in migration.outcome.source


def test_a_tile_that_may_not_be_reduced_at_all(migrate):
    body = ["total = tile", f"if axes:\n        total = {SUM}", "return nl.subtract(tile, total)"]
    body[2:2] = ["total = total.expand_dims(tuple(range(total.ndim, tile.ndim)))"]
    for axes in ([], [1, 2]):
        migration = migrate(module(*body), {"x": X, "axes": axes})
        assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


def test_tiles_of_other_sizes_end_the_kernel(migrate):
    body = [f"total = {SUM}", "total = total.expand_dims(2)", "return nl.subtract(tile, total)"]
    trouble = migrate(module(*body), {"x": X, "axes": [2]}).trouble
    assert any("combined: tiles of different sizes" in line for line in trouble)


def test_a_helper_passes_on_what_may_be_a_column(migrate):
    helper = "def g(a, b):\n    return nl.subtract(a, b)\n\n\n"
    body = [f"total = {SUM}", "plain = g(tile, tile)", "return g(plain, total.expand_dims(-1))"]
    source = module(*body).replace("def f(", helper + "def f(")
    migration = migrate(source, {"x": X, "axes": [1, 2]})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


def test_dimensions_and_elements_of_tensors_are_lengths_and_products(migrate):
    source = HEADER + KERNEL.replace("f(tile, axes)", "nl.copy(tile)").replace(
        "tile = nl.load(x)",
        "tile = nl.load(x)\n    assert x.ndim == 3 and tile.ndim == len(tile.shape)\n"
        "    assert tile.shape_2d == (partitions, planes * columns) and tile.shape_2d[0] == tile.shape_2d[-2] == 6",
    )
    migration = migrate(source, {"x": X, "axes": 0})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert "ndim" not in migration.outcome.source and "shape_2d" not in migration.outcome.source


@pytest.mark.parametrize(
    "line",
    [
        "part = tile[0:64, 0:1].expand_dims(2)",
        "part = tile.expand_dims(tile)",
        "part = nisa.tensor_reduce(np.add, data=tile, axis=unknown(tile))",
        "part = nisa.tensor_reduce(np.add, data=cube, axis=axes, keepdims=True)",
        "part = nisa.tensor_reduce(np.add, data=cube, axis=axes, mask=nl.arange(64)[:, None] < n)",
    ],
)
def test_what_cannot_be_told_is_left_under_a_finding(line):
    source = HEADER + (
        "@nki.jit\ndef k(x, axes, n):\n    out = nl.ndarray((64, 8), dtype=x.dtype, buffer=nl.shared_hbm)\n"
        "    tile = nl.ndarray((nl.par_dim(64), 8), dtype=x.dtype)\n    tile[...] = nl.load(x[0:64, 0:8])\n"
        "    cube = nl.zeros((nl.par_dim(64), 2, 4), dtype=x.dtype)\n"
        f"    {line}\n    nl.store(out, tile)\n    return out\n"
    )
    outcome = rewrite(source)
    assert len(outcome.findings) == 1 and line in outcome.source


WITH = """\
    for i in nl.affine_range(2):
        with context(i) as c:
            {body}
"""


def inside_with(body: str) -> str:
    kernel = KERNEL.replace("    result = f(tile, axes)\n", WITH.format(body=body)).replace("result", "tile")
    return HEADER + "from nowhere import context\n" + kernel


def test_what_a_with_holds_is_rewritten_under_the_finding_of_the_with():
    outcome = rewrite(inside_with("tile = nl.exp(tile)  # kept"))
    assert [f.message for f in outcome.findings] == ["Beta 2 kernels cannot contain with"]
    assert "with context(i) as c:" in outcome.source and "nisa.activation(" in outcome.source
    assert "# kept" in outcome.source and "nl.exp(" not in outcome.source


def test_a_break_in_a_with_ends_the_loop_around_it():
    messages = [f.message for f in rewrite(inside_with("break")).findings]
    assert "break in a loop whose body Beta 1 traced once" in messages


def test_index_vectors_that_the_head_of_a_with_reads_are_kept():
    source = inside_with("tile = nl.exp(tile)").replace("context(i)", "context(rows)")
    source = source.replace("    for i in", "    rows = nl.arange(6)[:, None]\n    for i in")
    outcome = rewrite(source)
    assert "rows = nl.arange(6)[:, None]" in outcome.source and len(outcome.findings) == 2
