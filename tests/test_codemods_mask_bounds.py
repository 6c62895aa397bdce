"""Masks that bound from below, and operands that index vectors repeat."""

from __future__ import annotations

import pytest
from first_rung import rewrite
from nki_migrate.runtime.cases import TensorSpec

REPEATED = """\
import numpy as np
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def k(x, y):
    p, a, b = x.shape
    out = nl.ndarray((p, a, b), dtype=x.dtype, buffer=nl.shared_hbm)
    wide = nl.load(x)
    narrow = nl.load(y)
    product = nl.zeros((p, a, b), dtype=x.dtype, buffer=nl.sbuf)
    i_p = nl.arange(p)[:, None, None]
    i_a = nl.arange(a)[None, :, None]
    i_b = nl.arange(b)[None, None, :]
    product[i_p, i_a, i_b] = nisa.tensor_tensor({operands}, np.multiply, mask={mask})
    nl.store(out, value=product)
    return out
"""


@pytest.mark.parametrize("operands", ["wide[i_p, i_a, i_b], narrow[i_p, i_a]", "narrow[i_p, i_a], wide[i_p, i_a, i_b]"])
@pytest.mark.parametrize("mask", ["None", "i_b < b - 3", "(i_a < a - 1) & (i_b < 4)"])
def test_an_operand_that_vectors_repeat_is_read_with_a_step_of_0(migrate, operands, mask):
    shapes = {"x": TensorSpec((64, 5, 9), "float32", "normal"), "y": TensorSpec((64, 5), "float32", "normal")}
    migration = migrate(REPEATED.format(operands=operands, mask=mask), shapes)
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert "[0, " in migration.outcome.source


LOWER = """\
import numpy as np
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def k(x):
    p, n = x.shape
    out = nl.ndarray((p, n), dtype=nl.float32, buffer=nl.shared_hbm)
    i = nl.arange(p)[:, None]
    j = nl.arange(n)[None, :]
    tile = nl.load(x)
    result = nl.zeros((128, n), dtype=nl.float32, buffer=nl.sbuf)
    for t in nl.affine_range(3):
        result[i, j] = {computation}
    nl.store(out[i, j], value=result[i, j], mask=i >= 2)
    return out
"""


@pytest.mark.parametrize(
    "computation",
    [
        "nl.add(tile[i, j], 1.0, mask=j >= 3)",
        "nl.add(tile[i, j], 1.0, mask=(j > 3) & (j < n - 1))",
        "nl.add(tile[i, j], 1.0, mask=(-1 * j + t <= -2) & (i < p - 5))",
        "nl.add(tile[i, n - 1 - j], 1.0, mask=2 <= j)",
        "nl.add(tile[i, j], tile[i, j], mask=(j + t - 1 >= 0) & (j + t - 1 < 8))",
        "nl.copy(tile[i, j], mask=t <= j)",
        "nl.exp(tile[i, j], mask=j - 4 * t >= 0)",
        "nl.load(x[i - 3, j], mask=(i >= 3) & (j >= t))",
        "nisa.activation(np.square, tile[i, j], bias=tile[i, 0], mask=j >= 5)",
    ],
)
def test_lower_bounds_start_later(migrate, computation):
    migration = migrate(LOWER.format(computation=computation), {"x": TensorSpec((64, 10), "float32", "normal")})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert "_size" in migration.outcome.source


@pytest.mark.parametrize(
    ("computation", "message"),
    [
        ("nl.add(tile[i, j], 1.0, mask=i >= 3)", "a mask with a lower bound of partitions"),
        ("nl.add(tile[i, j], 1.0, mask=(j >= 3) & (j >= t))", "two lower bounds on one dimension"),
        ("nisa.nc_transpose(tile[i, j], mask=j >= 3)", "a mask with a lower bound of nc_transpose"),
    ],
)
def test_lower_bounds_that_cannot_start_later_are_findings(computation, message):
    findings = rewrite(LOWER.format(computation=computation)).findings
    assert any(message in finding.message for finding in findings), findings


COUNTED = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


def tiles(count):
    return [2, 0, 1, 3]


@nki.jit
def k(x):
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    i_p = nl.arange(128)[:, None]
    i_f = nl.arange(columns)[None, :]
    for i in {loop}((rows + 128 - 1) // 128):
        tile = nl.load(x[i * 128 + i_p, i_f], mask=i * 128 + i_p < rows)
        nl.store(out[i * 128 + i_p, i_f], tile, mask=i * 128 + i_p < rows)
    return out
"""


@pytest.mark.parametrize(("loop", "guarded"), [("tiles", True), ("range", False), ("nl.affine_range", False)])
def test_only_a_loop_over_a_range_is_known_to_have_rows_in_each_iteration(migrate, loop, guarded):
    migration = migrate(COUNTED.format(loop=loop), {"x": TensorSpec((300, 8), "float32", "normal")})
    assert (migration.outcome.findings, migration.trouble) == ((), ())
    assert ("> 0:" in migration.outcome.source) == guarded


NAMED = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def k(x):
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    i_p, i_f = nl.mgrid[0:128, 0:columns]
    for i in nl.affine_range((rows + 127) // 128):
        part = x[i * 128 + i_p, i_f]
        place = out[i * 128 + i_p, i_f]
        tile = nl.load(part, mask=i * 128 + i_p < rows)
        nl.store(place, tile, mask=i * 128 + i_p < rows)
    return out
"""


def test_named_parts_that_masks_cut_are_not_written_whole(migrate):
    migration = migrate(NAMED, {"x": TensorSpec((300, 8), "float32", "normal")})
    assert (migration.outcome.findings, migration.trouble) == ((), ())
    assert "place =" not in migration.outcome.source and "part =" not in migration.outcome.source
