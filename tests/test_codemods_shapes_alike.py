"""Tensors made with the shape of another, tiles reshaped to the shape that they have, columns of unknown width."""

import pytest
from first_rung import Options, rewrite
from hypothesis import given
from hypothesis import strategies as st
from nki_migrate.runtime.cases import TensorSpec

HEAD = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
"""
WHOLE = HEAD + """\
def k(x):
    out = nl.ndarray({shape}, dtype=x.dtype, buffer=nl.shared_hbm)
    rows, columns = x.shape
    t = nl.load(x[0:rows, 0:columns])
    nl.store({part}, value=nl.exp(t))
    return out
"""
VECTOR = HEAD + '''\
def k(x, bias):
    """
    bias.shape == [{said}]
    """
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    b = nl.load(bias[0:rows]).reshape({shape})
    nl.store(out[0:rows, 0:columns], value=nl.add(nl.load(x[0:rows, 0:columns]), b))
    return out
'''
COLUMN = HEAD + """\
def k(x, c):
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    own = nl.load(c[0:rows, :])
    wide = nl.broadcast_to(own, shape=(rows, columns))
    nl.store(out, value=nl.subtract(nl.load(x), wide))
    return out
"""
X = TensorSpec((64, 32), "float32", "normal")


@pytest.mark.parametrize("shape", ["x.shape", "shape=x.shape"])
@pytest.mark.parametrize("part", ["out[0:rows, 0:columns]", "out[:, 0:columns]", "out"])
def test_all_of_what_is_made_with_the_shape_of_another_is_the_whole(migrate, shape, part):
    migration = migrate(WHOLE.format(shape=shape, part=part), {"x": X}, Options(unsafe=True))
    assert migration.objection is None and migration.trouble == () and migration.outcome.findings == ()
    assert "dma_copy(dst=out, " in migration.outcome.source


@pytest.mark.parametrize(
    "made",
    [
        "out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)\n    x = x.reshape((32, 64))",
        "out = nl.ndarray((64, 64), dtype=x.dtype, buffer=nl.shared_hbm)",
        "out = made(x.shape, x.dtype)",
    ],
    ids=["bound again", "of its own shape", "by a function"],
)
def test_a_part_of_anything_else_stays_a_part(made):
    source = WHOLE.format(shape="x.shape", part="out[0:rows, 0:columns]")
    source = source.replace("out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)", made)
    function = "def made(shape, dtype):\n    return nl.ndarray((64, 64), dtype=dtype, buffer=nl.shared_hbm)\n\n\n"
    outcome = rewrite(source.replace("@nki.jit", function + "@nki.jit"), Options(unsafe=True))
    assert "out[0:rows, 0:columns]" in outcome.source


def test_a_vector_is_a_column_already(migrate):
    """And it has the rank that its author says."""
    bias = TensorSpec((64,), "float32", "normal")
    source = VECTOR.format(said="R", shape="(rows, 1)")
    migration = migrate(source, {"x": X, "bias": bias}, Options(unsafe=True))
    assert migration.objection is None and migration.trouble == () and migration.outcome.findings == ()
    assert "reshape" not in migration.outcome.source and "nisa.dma_copy(dst=b, src=bias" in migration.outcome.source
    assert "assert len(bias.shape) == 1, " in migration.outcome.source


@pytest.mark.parametrize("shape", ["(rows, 1, 1)", "(rows, n)"])
def test_another_shape_is_a_reshape(shape):
    source = VECTOR.format(said="R", shape=shape).replace("x, bias", "x, bias, n")
    assert "reshape" in rewrite(source, Options(unsafe=True)).source


@given(rows=st.sampled_from([1, 32, 96]), columns=st.sampled_from([1, 2, 40]), width=st.sampled_from([1, 2, 40]))
def test_what_is_broadcast_is_one_column(migrate, rows, columns, width):
    """Whatever the width is: equal, or stopped by the assertion."""
    args = {"x": TensorSpec((rows, columns), "float32", "normal"), "c": TensorSpec((rows, width), "float32", "normal")}
    migration = migrate(COLUMN, args, Options(unsafe=True))
    assert migration.outcome.findings == () and "assert c.shape[1] == 1" in migration.outcome.source
    if width == 1:
        assert migration.trouble == ()
    elif columns == width:
        assert "rewritten for a broadcast along free dimensions" in str(migration.trouble)


def test_nothing_is_asserted_of_what_is_as_wide_already():
    source = COLUMN.replace("own = nl.load(c[0:rows, :])", "own = nl.load(c[0:rows, 0:columns])")
    assert "broadcast along" not in rewrite(source, Options(unsafe=True)).source


HALVES = HEAD + """\
def k(x, y):
    rows, width = x.shape
    rows_y, width_y = y.shape
    {said}
    half = width // 2
    out = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.shared_hbm)
    a, b = nl.load(x[:, :half], dtype=nl.float32), nl.load(x[:, half:], dtype=nl.float32)
    c, d = nl.load(y[:, :half], dtype=nl.float32), nl.load(y[:, half:], dtype=nl.float32)
    nl.store(out[:, :half], value=nl.add(nl.multiply(a, c), nl.multiply(b, d)))
    nl.store(out[:, half:], value=nl.subtract(nl.multiply(b, c), nl.multiply(a, d)))
    return out
"""
KEPT = "value=nl.add(nl.multiply(a, c), nl.multiply(b, d))"


@pytest.mark.parametrize(
    ("said", "is_kept"),
    [
        ("assert rows == rows_y and width == width_y and width % 2 == 0", True),
        ("assert rows == rows_y\n    assert width == width_y\n    assert width_y % 128 == 0", True),
        ("assert rows_y == rows and width_y == width and width % 4 == 0", True),
        ("assert rows == rows_y == 16 and width == width_y and width % 2 == 0", True),
        ("assert rows == rows_y and width == width_y", False),
        ("assert rows == rows_y and width == width_y and width % 3 == 0", False),
        ("assert rows == rows_y or width == width_y", False),
        ("if rows == rows_y:\n        assert width % 2 == 0 and width == width_y", False),
    ],
)
def test_halves_of_what_is_said_to_be_even_are_of_one_shape(migrate, said, is_kept):
    args = {"x": TensorSpec((16, 384), "float32"), "y": TensorSpec((16, 384), "bfloat16")}
    migration = migrate(HALVES.format(said=said), args, Options(target="0.6"))
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert (KEPT in migration.outcome.source) == is_kept


SIZES = HEAD + """\
def k(x, g):
    {said}
    out = nl.ndarray((16, x.shape[1]), dtype=nl.float32, buffer=nl.shared_hbm)
    a = nl.load(x[0:16, 0 : x.shape[1]], dtype=nl.float32)
    b = nl.load(g[0:16, 0 : g.shape[1]], dtype=nl.float32)
    nl.store(out, value=a * b + a)
    return out
"""


@pytest.mark.parametrize(
    ("said", "is_kept"),
    [
        ("assert x.shape[1] == g.shape[1]", True),
        ("assert g.shape[1] == x.shape[1] == 24", True),
        ("n = g.shape[1]\n    assert x.shape[1] == n", True),
        ("m, n = g.shape\n    assert n == x.shape[1]", True),
        ("m, n = g.shape\n    p, q = x.shape\n    assert n == q", True),
        ("r, s = x.shape\n    m, n = g.shape\n    assert r == s\n    assert m == n\n    assert m == r", True),
        ("assert x.shape[0] == g.shape[1]", False),
        ("assert x.shape[1] <= g.shape[1]", False),
        ("if len(x.shape) == 2:\n        assert x.shape[1] == g.shape[1]", False),
    ],
)
def test_sizes_of_tensors_that_are_said_to_be_equal_are(migrate, said, is_kept):
    args = {"x": TensorSpec((24, 24), "float32"), "g": TensorSpec((24, 24), "bfloat16")}
    migration = migrate(SIZES.format(said=said), args, Options(target="0.6"))
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert ("value=nl.add(nl.multiply(a, b), a)" in migration.outcome.source) == is_kept


def test_what_equals_an_integer_may_be_a_float(migrate):
    source = HEAD + (
        "def k(x, n, scale):\n    assert n == scale\n"
        "    out = nl.ndarray((16, 24), dtype=nl.float32, buffer=nl.shared_hbm)\n"
        "    for i in nl.affine_range(n):\n        t = nl.load(x) * scale\n"
        "    nl.store(out, nl.load(x) * scale)\n    return out\n"
    )
    migration = migrate(source, {"x": TensorSpec((16, 24), "bfloat16", "normal"), "n": 4, "scale": 4})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert "isinstance(scale, float)" in migration.outcome.source
