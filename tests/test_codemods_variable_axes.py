"""Reductions over an axis that a variable holds: a tile of two dimensions has one that Beta 1 reduces."""

from __future__ import annotations

import pytest
from first_rung import rewrite
from nki_migrate.runtime.cases import TensorSpec

ARGS = {"x": TensorSpec((128, 64), "float32", "normal"), "w": TensorSpec((128, 64), "float32", "normal")}
SOURCE = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import numpy as np


@nki.jit
def k(x, w, axis, n=64):
    rows, columns = x.shape
    t = nl.load(x)
    u = nl.load(w)
    r = {reduced}
    out = nl.ndarray(r.shape, dtype=r.dtype, buffer=nl.shared_hbm)
    nl.store(out, r)
    return out
"""
REDUCED = (
    "nl.sum(t, axis=axis)",
    "nl.max(t, axis=axis, keepdims=True)",
    "nl.mean(t, axis=axis)",
    "nl.var(t, axis=axis)",
    "nl.softmax(t, axis=axis)",
    "nl.rms_norm(t, u, axis, n)",
    "nl.rms_norm(t, u, axis, n, 1e-5)",
    "nisa.tensor_reduce(np.add, t, axis=axis)",
    "nisa.tensor_reduce(np.max, t, axis=axis, negate=True)",
    "nisa.tensor_reduce(np.add, t, axis=[axis])",
)


@pytest.mark.parametrize(
    ("reduced", "axis"),
    [(r, axis) for r in REDUCED for axis in (1, -1, [1], [-1]) if "[axis]" not in r or isinstance(axis, int)],
)
def test_the_only_free_axis_is_meant(migrate, reduced, axis):
    found = migrate(SOURCE.format(reduced=reduced), {**ARGS, "axis": axis})
    assert found.outcome.findings == () and found.objection is None and found.trouble == ()
    assert "axis=axis" not in found.outcome.source and "reduced_axes" not in found.outcome.source


MASKED = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def k(x, w, axis, n):
    rows, columns = x.shape
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    i = nl.arange(64)[:, None]
    j = nl.arange(columns)[None, :]
    weights = nl.load(w.reshape((1, columns)))
    for tile in nl.affine_range((rows + 63) // 64):
        t = nl.load(x[tile * 64 + i, j], mask=(tile * 64 + i < rows))
        r = {computed}
        nl.store(out[tile * 64 + i, j], value=r, mask=(tile * 64 + i < rows))
    return out
"""


@pytest.mark.parametrize(
    "computed",
    [
        "nl.rms_norm(t, weights, axis, n, 1e-6, mask=(tile * 64 + i < rows))",
        "nl.multiply(t, weights, mask=(tile * 64 + i < rows))",
        "nl.subtract(weights, t, mask=(tile * 64 + i < rows))",
    ],
)
def test_one_row_is_broadcast_as_a_whole_whatever_the_mask_of_rows(migrate, computed):
    args = {"x": TensorSpec((100, 32), "float32", "normal"), "w": TensorSpec((32,), "float32", "normal")}
    found = migrate(MASKED.format(computed=computed), {**args, "axis": 1, "n": 32})
    assert found.outcome.findings == () and found.objection is None and found.trouble == ()


@pytest.mark.parametrize("axis", ["chosen(1)", "axis if n else chosen(2)", "n and chosen(n)"])
def test_what_a_call_computes_is_no_axis_that_may_go(axis):
    source = SOURCE.format(reduced=f"nisa.tensor_reduce(np.add, t, axis={axis})")
    outcome = rewrite("from elsewhere import chosen\n" + source)
    assert "chosen(" in outcome.source.partition("def k")[2]


def test_of_three_dimensions_the_axis_is_not_known(migrate):
    source = SOURCE.format(reduced="nl.softmax(v, axis=axis)").replace(
        "    r =", "    v = nl.ndarray((128, 2, 32), dtype=nl.float32)\n    v[...] = t.reshape((128, 2, 32))\n    r ="
    )
    found = migrate(source, {**ARGS, "axis": [1, 2]})
    assert [f.code for f in found.outcome.findings] != []
