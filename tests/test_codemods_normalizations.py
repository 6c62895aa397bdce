"""Functions of ``nl`` that normalize or round: what stays, what becomes instructions, and what is left, by version."""

from __future__ import annotations

import pytest
from nki_migrate.codemods import Options, rewrite
from nki_migrate.runtime.cases import TensorSpec

HEAD = "import neuronxcc.nki as nki\nimport neuronxcc.nki.language as nl\n\n\n"
ROUNDED = HEAD + """\
@nki.jit
def k(x):
    p, f = x.shape
    outs = nl.ndarray((5, p, f), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.load(x[0:p, 0:f])
    low = nl.floor(tile)
    nl.store(outs[0], value=low)
    nl.store(outs[1], value=nl.ceil(tile))
    nl.store(outs[2], value=nl.trunc(tile))
    rest = nl.subtract(tile, low)
    nl.store(outs[3], value=nl.cos(rest))
    nl.store(outs[4], value=nl.tan(nl.multiply(rest, 0.5)))
    return outs
"""
ARGS = {"x": TensorSpec((128, 48), "float32"), "w": TensorSpec((128, 48), "float32")}


def of_rows(computed: str, shape: str = "x.shape") -> str:
    """A kernel that stores what is computed of two tiles."""
    return f"""{HEAD}\
@nki.jit
def k(x, w):
    out = nl.ndarray({shape}, dtype=nl.float32, buffer=nl.shared_hbm)
    a = nl.load(x[0:128, 0:48])
    b = nl.load(w[0:128, 0:48])
    nl.store(out, value={computed})
    return out
"""


def test_rounding_stays_where_the_target_has_it(migrate):
    migration = migrate(ROUNDED, {"x": ARGS["x"]}, Options())
    assert migration.trouble == () and migration.outcome.findings == ()
    assert all(f"nl.{name}(" in migration.outcome.source for name in ("floor", "ceil", "trunc", "cos", "tan"))


def test_rounding_is_left_at_a_version_that_has_no_function_for_it():
    outcome = rewrite(ROUNDED, Options(target="0.2"))
    assert [finding.code for finding in outcome.findings] == [
        "NKI030",
        "NKI022",
        "NKI022",
        "NKI090",
        "NKI022",
        "NKI022",
    ]


NORMALIZED = {
    "a softmax": ("nl.softmax(a, axis=1)", "x.shape"),
    "a softmax over the last axis of what is computed": ("nl.softmax(a * 2.0, axis=-1)", "x.shape"),
    "a variance": ("nl.var(a, axis=1)", "(128, 1)"),
    "an RMS norm": ("nl.rms_norm(a, b, 1, 48)", "x.shape"),
    "a softmax of another type": ("nl.softmax(a, axis=[1], dtype=nl.bfloat16)", "x.shape"),
    "a remainder of a row's truth": ("nl.all(nl.greater(a, b), axis=1)", "(128, 1)"),
    "what is not": ("nl.logical_not(nl.greater(a, b))", "x.shape"),
    "a dimension behind the last one": ("nl.expand_dims(a, axis=2)", "(128, 48, 1)"),
    "a sum over the last axis of a list": ("nl.sum(a, axis=[-1])", "(128, 1)"),
    "a softmax over the last axis of a list": ("nl.softmax(a, axis=[-1])", "x.shape"),
    "the least number": ("nl.maximum(a, nl.fp32.min)", "x.shape"),
}


@pytest.mark.parametrize("version", ["0.2", "0.6"])
@pytest.mark.parametrize("name", NORMALIZED)
def test_normalizations_give_the_same_numbers(migrate, name, version):
    migration = migrate(of_rows(*NORMALIZED[name]), ARGS, Options(target=version))
    assert migration.trouble == () and migration.outcome.findings == ()


@pytest.mark.parametrize(
    "computed",
    [
        "nl.softmax(a, axis=1, compute_dtype=nl.float32)",
        "nl.softmax(a, axis=1, mask=(nl.arange(48)[None, :] < 40))",
        "nl.mean(a, axis=1, mask=(nl.arange(48)[None, :] < 40))",
        "nl.softmax(a.reshape((128, 6, 8)), axis=2).reshape((128, 48))",
        "nl.softmax(x, axis=1)",
    ],
)
def test_other_normalizations_are_left_and_said(computed):
    assert {finding.code for finding in rewrite(of_rows(computed)).findings} & {"NKI037", "NKI022", "NKI090"}


BY_ROWS = HEAD + """\
@nki.jit
def k(x, w):
    n, f = x.shape
    out = nl.ndarray((n, {width}), dtype=nl.float32, buffer=nl.shared_hbm)
    i, j = nl.arange(128)[:, None], nl.arange(f)[None, :]
    row = nl.load(w.reshape((1, f)))
    b = row.broadcast_to((128, f))
    for t in nl.affine_range((n + 127) // 128):
        rows = t * 128 + i < n
        a = nl.load(x[t * 128 + i, j], mask=rows)
        c = {computed}
        nl.store(out[t * 128 + i, nl.arange({width})[None, :]], value=c, mask=rows)
    return out
"""
MASKED = {
    "softmax": ("nl.softmax(a, axis=1, mask=rows)", "f"),
    "softmax of what is computed": ("nl.softmax(nl.multiply(a, 2.0, mask=rows), axis=1, mask=rows)", "f"),
    "RMS norm": ("nl.rms_norm(a, b, 1, f, mask=rows)", "f"),
    "RMS norm of another type": ("nl.rms_norm(a, b, [1], n=f, epsilon=1e-5, dtype=nl.bfloat16, mask=rows)", "f"),
    "variance": ("nl.var(a, axis=1, mask=rows)", "1"),
    "mean": ("nl.mean(a, axis=1, mask=rows)", "1"),
    "mean of another type": ("nl.mean(a, axis=[1], dtype=nl.bfloat16, mask=rows)", "1"),
}


@pytest.mark.parametrize("version", ["0.2", "0.6"])
@pytest.mark.parametrize("name", MASKED)
@pytest.mark.parametrize("rows", [100, 200, 256])
def test_a_mask_of_rows_holds_for_each_instruction(migrate, name, version, rows):
    computed, width = MASKED[name]
    args = {"x": TensorSpec((rows, 48), "float32"), "w": TensorSpec((48,), "float32")}
    migration = migrate(BY_ROWS.format(computed=computed, width=width), args, Options(target=version))
    assert migration.trouble == () and migration.outcome.findings == ()
