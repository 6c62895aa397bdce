"""Tensors of other ranks than their subscripts name: equal, or the kernel asserts the rank, and never another shape."""

from __future__ import annotations

import pytest
from first_rung import rewrite
from nki_migrate.runtime.cases import TensorSpec

HEADER = "import neuronxcc.nki as nki\nimport neuronxcc.nki.language as nl\n\n\n"
OUTPUT = [
    "out = nl.ndarray(w.shape, dtype=y.dtype, buffer=nl.shared_hbm)",
    "nl.store(out, w)",
    "return out",
]


def kernel(*lines: str, helper: str = "", end: list[str] = OUTPUT) -> str:
    body = "".join(f"    {line}\n" for line in [*lines, *end])
    function = f"def helper(t):\n    return {helper}\n\n\n" if helper else ""
    return f"{HEADER}{function}@nki.jit\ndef k(y):\n{body}"


def y(*shape: int) -> dict[str, TensorSpec]:
    return {"y": TensorSpec(shape, "float32")}


SLICED = [
    kernel("w = nl.load(y[0:5, 0:3])"),
    kernel("w = nl.load(y[nl.ds(0, 5), :])"),
    kernel("w = nl.load(y[:, :])"),
    kernel("v = y[0:5, 0:3]", "w = nl.load(v)"),
    kernel("w = nl.exp(nl.load(y[0:5, 0:3]))"),
    kernel("t = nl.load(y)", "w = nl.exp(t[0:5, 0:3])"),
    kernel("t = nl.load(y)", "v = t[0:5, 0:3]", "w = nl.copy(v)"),
    kernel("t = nl.load(y[0:5, 0:3])", "w = nl.zeros_like(t)", "w[...] = nl.add(t, t)"),
    kernel("t = nl.load(y[0:5, 0:3])", "w = t"),
    kernel("w = nl.load(y[0:5, 0:3])", "w += 1.0"),
    kernel("w = helper(y[0:5, 0:3])", helper="nl.sum(nl.load(t), axis=-1)"),
    kernel("w = helper(y)", helper="nl.exp(nl.load(t[0:5, 0:3]))"),
    kernel("t = nl.load(y[0:5, 0:3])", "w = nl.ndarray((5, 3), dtype=y.dtype, buffer=nl.sbuf)", "w[...] = t[..., 0]"),
    kernel("t = nl.load(y[0:5, 0:3])", "w = nl.multiply(t, 1.0 / t.shape[-1])"),
]


@pytest.mark.parametrize("source", SLICED)
def test_a_subscript_that_leaves_out_a_dimension_asserts_that_there_is_none(migrate, source):
    named, wider = migrate(source, y(5, 3)), migrate(source, y(5, 3, 1))
    assert (named.outcome.findings, named.objection, named.trouble) == ((), None, ())
    assert any("rewritten for 2 dimensions" in text for text in wider.trouble)


@pytest.mark.parametrize(
    "source",
    [
        kernel("w = nl.load(y)"),
        kernel("w = nl.add(nl.load(y), 1.0)"),
        kernel("t = nl.load(y)", "w = nl.multiply(t, t)"),
        kernel("w = helper(nl.load(y))", helper="nl.exp(t)"),
        kernel("w = helper(y)", helper="nl.load(t)"),
    ],
)
def test_a_tensor_of_one_dimension_is_no_tile_of_one(migrate, source):
    assert [migrate(source, y(*shape)).trouble for shape in [(5, 3), (5, 3, 2), (5, 1)]] == [()] * 3
    assert any("rewritten for 2 dimensions at least" in text for text in migrate(source, y(5)).trouble)


@pytest.mark.parametrize(
    "lines",
    [
        ["nl.store(out, nl.add(nl.load(y), 1.0))"],
        ["t = nl.load(y[0:5])", "nl.store(out[0:5], nl.multiply(t, t))"],
        ["for i in nl.affine_range(5):", "    nl.store(out[i:i + 1], nl.load(y[i:i + 1]))"],
    ],
)
@pytest.mark.parametrize("shape", [(5,), (5, 1), (5, 3), (5, 3, 1), (5, 3, 2)])
def test_what_does_not_show_ranks_takes_them_all(migrate, lines, shape):
    out = "out = nl.ndarray(y.shape, dtype=y.dtype, buffer=nl.shared_hbm)"
    migration = migrate(kernel(out, *lines, end=["return out"]), y(*shape))
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


@pytest.mark.parametrize("source", [kernel("w = nl.load(y[0:5])"), kernel("v = y[0:5]", "w = nl.load(v)")])
@pytest.mark.parametrize("shape", [(5,), (5, 1), (5, 3), (5, 3, 1), (6, 2, 2)])
def test_rows_of_a_tensor_are_loaded_whatever_its_rank(migrate, source, shape):
    assert migrate(source, y(*shape)).trouble == ()


@pytest.mark.parametrize(
    "source",
    [
        kernel("t = nl.load(y)", "w = helper(t[0:4])", helper="nl.exp(t)"),
        kernel("t = nl.load(y)", "w = nl.copy(t[0:4])"),
        kernel("t = nl.load(y)", "v = t[0:4]", "w = nl.copy(v)"),
    ],
)
def test_rows_of_a_tile_have_its_second_dimension(migrate, source):
    assert migrate(source, y(5, 3)).trouble == ()
    assert any("rewritten for 2 dimensions" in text for text in migrate(source, y(5, 3, 2)).trouble)


def test_a_known_rank_is_not_asserted():
    for line in ["p, n = y.shape", "assert len(y.shape) == 2", "n = y.shape[1]"]:
        whole = kernel(line, "w = nl.load(y)")
        assert "assert len(y.shape) >" not in rewrite(whole).source
