"""Constants of np.fromfunction: the kernel fills them itself, with the same ones and zeros."""

from __future__ import annotations

import pytest
from first_rung import rewrite
from hypothesis import given, settings
from hypothesis import strategies as st
from nki_migrate.runtime.cases import TensorSpec

SOURCE = """\
import numpy as np
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def k(x, n=3):
    {sizes} = x.shape
    least = min({first}, 128)
    out = nl.ndarray(({sizes}), dtype={stored}, buffer=nl.shared_hbm)
    found = nl.shared_constant(np.fromfunction({function}, {shape}{more}){dtype})
    nl.store(out[{all}], value=nl.load(found[{all}]))
    return out
"""


def source(function, rank=2, shape="x.shape", more="", dtype="", stored="nl.float32"):
    sizes = ", ".join("abcde"[:rank])
    everything = ", ".join([":"] * rank)
    return SOURCE.format(
        function=function, sizes=sizes, first="a", all=everything, shape=shape, more=more, dtype=dtype, stored=stored
    )


def differences(migrate, text, shape):
    """What keeps both versions from being equal; what fills the constant is declared by its rule."""
    migration = migrate(text, {"x": TensorSpec(shape, "float32", "normal")})
    assert (migration.outcome.findings, migration.objection) == ((), None)
    assert "affine_select" in migration.outcome.source
    return list(migration.trouble)


@pytest.mark.parametrize("operator", ["==", "!=", "<", "<=", ">", ">="])
@pytest.mark.parametrize("shape", [(8, 8), (8, 3), (1, 5), (5, 1)])
def test_ones_where_a_comparison_holds(migrate, operator, shape):
    assert differences(migrate, source(f"lambda i, j: (i {operator} j).astype(np.float32)"), shape) == []


@pytest.mark.parametrize(
    ("function", "shape"),
    [
        ("lambda i, j, k: (i == j).astype(np.float32)", (6, 6, 4)),
        ("lambda i, j, k: (j == k).astype(np.float32)", (3, 6, 6)),
        ("lambda i, j, k: (i == k).astype(np.float32)", (5, 3, 5)),
        ("lambda i, j, k, l: (i == j).astype(np.float32)", (5, 5, 2, 3)),
        ("lambda i, j, k: (i < 2).astype(np.float32)", (5, 2, 3)),
        ("lambda i, j, k: (j + n > 2 * i - k).astype(np.float32)", (5, 6, 3)),
        ("lambda n, j, k: (n == j).astype(np.float32)", (5, 5, 2)),
        ("lambda i, j, k: (-(i - j) * n <= k - n * 2).astype(np.float32)", (5, 5, 4)),
        ("lambda i, j, k: (least == j).astype(np.float32)", (5, 7, 4)),
        ("lambda i, j, k: (0 == i - i).astype(np.float32)", (5, 7, 4)),
    ],
)
def test_any_affine_comparison_of_indices(migrate, function, shape):
    assert differences(migrate, source(function, len(shape)), shape) == []


@pytest.mark.parametrize("stored", ["np.uint8", "np.float32", "nl.bfloat16", "np.int32"])
def test_the_type_is_that_of_the_array_or_the_one_asked_for(migrate, stored):
    text = source("lambda i, j: (i == j).astype(np.uint8)", dtype=f", dtype={stored}", stored=stored)
    assert differences(migrate, text, (4, 4)) == []
    text = source(f"lambda i, j: (i == j).astype({stored})", stored=stored)
    if stored.startswith("np"):
        assert differences(migrate, text, (4, 4)) == []


def test_more_rows_than_partitions(migrate):
    text = source("lambda i, j: (i == j).astype(np.float32)", more=", dtype=np.int32")
    halves = text.replace(
        "nl.store(out[:, :], value=nl.load(found[:, :]))",
        "for h in nl.affine_range(2):\n"
        "        nl.store(out[nl.ds(100 * h, 100)], value=nl.load(found[nl.ds(100 * h, 100)]))",
    )
    assert differences(migrate, halves, (200, 130)) == []


def test_small_types_of_indices_are_asserted_not_to_wrap_around(migrate):
    text = source("lambda i, j: (i == j).astype(np.float32)", shape="(least, b)", more=", dtype=np.uint8")
    text = text.replace("(a, b), dtype", "(least, b), dtype")
    rewritten = rewrite(text).source
    assert "assert b <= 256" in rewritten and "assert least" not in rewritten
    assert differences(migrate, text, (4, 6)) == []
    assert "wrap around" in migrate(text, {"x": TensorSpec((1, 300), "float32", "normal")}).after.message


@pytest.mark.parametrize(
    "text",
    [
        source("lambda i, j: i == j"),
        source("lambda i, j: (i * j == 3).astype(np.float32)"),
        source("lambda i, j: (i // 2 == j).astype(np.float32)"),
        source("lambda i, j: (i == j).astype(np.float32) + 1"),
        source("lambda i, j: ((i == j) & (j == 1)).astype(np.float32)"),
        source("lambda i, j: (i < j < 3).astype(np.float32)"),
        source("lambda i, j, k: (i == j).astype(np.float32)"),
        source("lambda i, j, n=2: (i == j).astype(np.float32)", more=", n=3"),
        source("lambda *i: (i[0] == i[1]).astype(np.float32)"),
        source("eye"),
        source("lambda i, j: (n == 3).astype(np.float32)"),
        source("lambda i, j: (i == j).astype(np.float32)", shape="n"),
        source("lambda i, j: (i - 1 == j).astype(np.float32)", more=", dtype=np.uint8"),
        source("lambda i, j: (i == j).astype(np.float32)", more=", dtype=np.float16"),
        source("lambda i, j: (i == j).astype(i.dtype)"),
    ],
)
def test_other_functions_are_left_alone(text):
    outcome = rewrite(text)
    assert "NKI026" in {finding.code for finding in outcome.findings}
    assert "np.fromfunction(" in outcome.source


SIDES = st.recursive(
    st.sampled_from(["i", "j", "k", "0", "2", "n", "(n - 4)"]),
    lambda inner: st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from("+-"), inner),
        st.builds("({} * {})".format, st.sampled_from(["2", "n", "(1 - n)"]), inner),
        st.builds("(-{})".format, inner),
    ),
    max_leaves=4,
)


@settings(max_examples=25)
@given(
    left=SIDES,
    right=SIDES,
    operator=st.sampled_from(["==", "!=", "<", "<=", ">", ">="]),
    shape=st.tuples(st.integers(1, 6), st.integers(1, 6), st.integers(1, 6)),
)
def test_random_comparisons(migrate, left, right, operator, shape):
    names = set("ijk") & set(left + right)
    text = source(f"lambda i, j, k: ({left} {operator} {right}).astype(np.float32)", 3)
    if not names:  # a number, not an array: numpy gives no array of this shape
        return
    assert differences(migrate, text, shape) == []


@pytest.mark.parametrize(
    "array",
    [
        "np.ones(x.shape, dtype=np.float32)",
        "np.ones(x.shape)",
        "np.zeros(shape=x.shape, dtype=np.float32)",
        "np.tril(np.ones(x.shape, dtype=np.float32))",
        "np.tril(np.ones(x.shape, dtype=np.float32), -1)",
        "np.tril(np.ones(x.shape, dtype=np.float32), k=n - 1)",
        "np.triu(np.ones(x.shape, dtype=np.float32))",
        "np.triu(np.ones(x.shape, dtype=np.float32), k=2)",
        "np.triu(np.ones(x.shape), -n)",
    ],
)
@pytest.mark.parametrize("shape", [(8, 8), (5, 9), (9, 4)])
def test_arrays_of_one_number_and_triangles(migrate, array, shape):
    text = source("0").replace("np.fromfunction(0, x.shape)", f"{array}, dtype=nl.float32")
    assert differences(migrate, text, shape) == []


@pytest.mark.parametrize(
    "array",
    [
        "np.tril(np.zeros(x.shape))",
        "np.tril(np.ones(x.shape[:1]))",
        "np.ones(x.shape, order='F')",
        "np.ones(sizes)",
        "np.full(x.shape, 2.0)",
    ],
)
def test_other_arrays_are_left(array):
    text = source("0").replace("np.fromfunction(0, x.shape)", f"{array}, dtype=nl.float32")
    codes = [f.code for f in rewrite(text).findings]
    assert "NKI026" in codes
