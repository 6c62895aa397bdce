"""Functions that make index vectors: what is known of their results, and what is not."""

from __future__ import annotations

import pytest
from first_rung import rewrite
from nki_migrate.codemods.driver.module import rewrite_together
from nki_migrate.runtime.cases import TensorSpec

HEADER = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


"""
MAKER = """\
def made(*sizes):
    found = []
    for d in range(len(sizes)):
        place = [None] * len(sizes)
        place[d] = slice(None)
        found.append({vector})
    return found


"""
KERNEL = """\
@nki.jit
def k(x):
    p, a, b = x.shape
    out = nl.ndarray((p, a, b), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.zeros((nl.par_dim(128), a, b), dtype=x.dtype, buffer=nl.sbuf)
    {vectors} = made({sizes})
    tile[i_p, i_a, i_b] = nl.load(x[i_p, i_a, i_b])
    nl.store(out[i_p, i_a, i_b], value=tile[i_p, i_a, i_b])
    return out
"""
ARANGE = "nl.arange(sizes[d])[tuple(place)]"


def source(maker: str, vectors: str = "i_p, i_a, i_b", sizes: str = "p, a, b") -> str:
    return HEADER + maker + KERNEL.format(vectors=vectors, sizes=sizes)


@pytest.mark.parametrize(
    ("maker", "sizes"),
    [
        (MAKER.format(vector=ARANGE), "p, a, b"),
        (MAKER.format(vector=ARANGE + " if sizes[d] > 1 else 0"), "p, a, b"),
        (MAKER.format(vector=ARANGE), "p, 4, b"),
        (MAKER.format(vector="0 if sizes[d] == 1 else " + ARANGE), "p, a, b"),
        (
            "def made(p, a, b=10):\n    i = nl.arange(p)[:, None, None]\n"
            "    return i, nl.arange(a)[None, :, None], nl.arange(b)[None, None, :]\n\n\n",
            "p, a=a",
        ),
    ],
)
@pytest.mark.parametrize("shape", [(64, 4, 10), (1, 4, 10)])
def test_vectors_are_known(migrate, maker, sizes, shape):
    migration = migrate(source(maker, sizes=sizes), {"x": TensorSpec(shape, "float32", "normal")})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert "def made" not in migration.outcome.source


def test_what_a_size_of_one_leaves_out_is_the_same_slice(migrate):
    text = source(MAKER.format(vector=ARANGE + " if sizes[d] > 1 else 0"))
    for shape in ((64, 1, 10), (64, 4, 1), (1, 1, 10)):
        migration = migrate(text, {"x": TensorSpec(shape, "float32", "normal")})
        assert migration.trouble == ()


@pytest.mark.parametrize(
    "vector",
    [
        "nl.arange(sizes[d])[tuple(place)] if sizes[d] > 2 else 0",
        "nl.arange(sizes[d])[tuple(place)] if sizes[0] > 1 else nl.arange(sizes[d])[tuple(place)] + 1",
        "nl.arange(sizes[d])[tuple(place)] if sizes[0] > 1 else 1",
        "shifted(nl.arange(sizes[d])[tuple(place)])",
        "nl.arange(2, sizes[d])[tuple(place)]",
        "nl.arange(sizes[len(sizes) - d])[tuple(place)]",
    ],
)
def test_what_depends_on_sizes_otherwise_is_a_finding(vector):
    outcome = rewrite(source(MAKER.format(vector=vector)))
    assert any("it is not known what the index" in finding.message for finding in outcome.findings)
    assert "def made" in outcome.source


SHORTER = """\
def made(*sizes):
    rank = len(sizes) - 1 if sizes[-1] == 1 else len(sizes)
    found = []
    for d, size in enumerate(sizes):
        if size > 1:
            place = [None] * rank
            place[d] = slice(None)
            found.append(nl.arange(size)[tuple(place)])
        else:
            found.append(0)
    return found


"""


def beside(vector):
    """The kernel with a vector of two dimensions beside those that have two or three."""
    return source(SHORTER).replace("x[i_p, i_a, i_b]", f"x[{vector}, i_a, i_b]")


def test_a_column_beside_vectors_that_may_be_shorter_walks_the_partitions(migrate):
    text = source(SHORTER).replace("tile[i_p, i_a, i_b]", "tile[nl.arange(64)[:, None], i_a, i_b]")
    for shape in ((64, 4, 10), (64, 4, 1), (64, 64, 1), (64, 64, 3), (64, 1, 3)):
        migration = migrate(text, {"x": TensorSpec(shape, "float32", "normal")})
        assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


@pytest.mark.parametrize("middle", ["nl.arange(4)[None, :]", "nl.arange(4)[None, :, None]"])
def test_vectors_that_may_be_shorter_mix_with_others_where_the_sizes_say_so(migrate, middle):
    text = source(SHORTER).replace("[i_p, i_a, i_b]", f"[i_p, {middle}, i_b]")
    fits = (64, 4, 1) if middle.count("None") == 1 else (64, 4, 10)
    migration = migrate(text, {"x": TensorSpec(fits, "float32", "normal")})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    other = (64, 4, 10) if middle.count("None") == 1 else (64, 4, 1)
    after = migrate(text, {"x": TensorSpec(other, "float32", "normal")}).after
    assert "rewritten for index vectors of one number of dimensions" in after.message


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x[i_p, i_a, i_b]", "x[nl.arange(64)[:, None], i_p, i_b]"),
        ("x[i_p, i_a, i_b]", "x[nl.arange(4), i_a, i_b]"),
        ("x[i_p, i_a, i_b]", "x[i_p, i_a + nl.arange(1)[None, :], i_b]"),
        ("    tile[i_p", "    i_q, i_c, i_d = made(p, a, 2 * b)\n    tile[i_p, i_c, i_b] = nl.load(x)\n    tile[i_p"),
        ("nl.load(x[i_p, i_a, i_b])", "nl.load(x[i_p, i_a, i_b], mask=nl.arange(4)[None, :, None] < a - 1)"),
        (
            "nl.load(x[i_p, i_a, i_b])",
            "nl.load(x[i_p, i_a, i_b], mask=(i_p < p) & (nl.arange(4)[None, :, None] < a - 1))",
        ),
        ("value=tile[i_p, i_a, i_b]", "value=tile[i_p, i_a, i_b], mask=nl.arange(4)[None, :] < 3"),
    ],
)
def test_vectors_that_may_be_shorter_do_not_mix_where_the_sizes_do_not_say(old, new):
    assert rewrite(source(SHORTER)).findings == ()
    text = source(SHORTER).replace(old, new)
    messages = " ".join(finding.message for finding in rewrite(text).findings)
    assert any(m in messages for m in ("depends on sizes, beside others", "a column beside", "of different ranks")), new


COLUMNS = HEADER + """\
@nki.jit
def k(x):
    out = nl.ndarray(({p}, 4, 6), dtype=x.dtype, buffer=nl.shared_hbm)
    i_p = nl.arange({p})[:, None]
    i_q = nl.arange({p})[:, None, None]
    i_a = nl.arange(4)[None, :, None]
    i_b = nl.arange(6)[None, None, :]
    tile = nl.load(x[{load}])
    twice = nl.ndarray((nl.par_dim({p}), 4, 6), dtype=x.dtype, buffer=nl.sbuf)
    twice[{write}] = nl.add(tile[{read}], tile[{read}])
    nl.store(out[{store}], value=twice)
    return out
"""


@pytest.mark.parametrize("p", [5, 4, 1])
@pytest.mark.parametrize("place", ["load", "write", "read", "store"])
def test_a_column_of_fewer_dimensions_walks_the_partitions_still(migrate, place, p):
    parts = dict.fromkeys(("load", "write", "read", "store"), "i_q, i_a, i_b") | {place: "i_p, i_a, i_b"}
    migration = migrate(COLUMNS.format(p=p, **parts), {"x": TensorSpec((p, 4, 6), "float32", "normal")})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


def test_in_hbm_a_column_beside_another_first_dimension_is_not_decided():
    parts = dict.fromkeys(("load", "write", "read", "store"), "i_q, i_a, i_b") | {"load": "i_p, i_q, i_b"}
    messages = [finding.message for finding in rewrite(COLUMNS.format(p=4, **parts)).findings]
    assert "a column beside index vectors of more dimensions with a first one of their own" in messages


def test_a_maker_that_a_statement_still_needs_stays():
    kernel = source(MAKER.format(vector=ARANGE)).replace("return out", "nl.unknown(i_p)\n    return out")
    outcome = rewrite(kernel)
    assert "def made" in outcome.source and "i_p, i_a, i_b = made(p, a, b)" in outcome.source


def test_a_maker_of_another_file_goes_with_its_last_call():
    kernel = source("from makers import made\n\n\n")
    outcomes = rewrite_together({"makers.py": HEADER + MAKER.format(vector=ARANGE), "kernel.py": kernel})
    assert [outcome.findings for outcome in outcomes.values()] == [(), ()]
    assert "def made" not in outcomes["makers.py"].source and "import made" not in outcomes["kernel.py"].source


def test_a_maker_that_a_relative_import_still_names_stays():
    text = source("from .makers import made\n\n\n")
    outcomes = rewrite_together({"makers.py": HEADER + MAKER.format(vector=ARANGE), "kernel.py": text})
    assert "def made" in outcomes["makers.py"].source and "from .makers import made" in outcomes["kernel.py"].source


def test_the_import_of_a_module_stays_when_the_maker_in_it_goes():
    text = source("import makers\n\n\n").replace("= made(", "= makers.made(")
    outcomes = rewrite_together({"makers.py": HEADER + MAKER.format(vector=ARANGE), "kernel.py": text})
    assert [outcome.findings for outcome in outcomes.values()] == [(), ()]
    assert "def made" not in outcomes["makers.py"].source and "import makers" in outcomes["kernel.py"].source


FLAGGED = """\
def made(rows, columns, flag):
    found = []
    for size in (rows, columns):
        found.append(nl.arange(size))
    {body}


"""


@pytest.mark.parametrize(
    "body",
    [
        "if flag:\n        return [found[0][:, None], 0]\n    return [found[0][:, None], found[1][None, :]]",
        "if not flag:\n        return [found[0][:, None], 0]\n    return [found[0][:, None], found[1][None, :]]",
        "if flag < 1:\n        return [found[0][:, None], 0]\n    return [found[0][:, None], found[1][None, :]]",
        "return [found[0][:, None], (0 if flag else found[1][None, :])]",
        "flag.append(rows)\n    return [found[0][:, None], found[1][None, :]]",
    ],
)
def test_an_argument_that_is_no_extent_decides_nothing(body):
    """Flags and lists were taken for sizes, which are at least 1: every one of them was true."""
    kernel = (
        HEADER
        + FLAGGED.format(body=body)
        + (
            "@nki.jit\ndef k(x, flag):\n    out = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)\n"
            "    i_p, i_f = made(128, 64, flag)\n    nl.store(out[i_p, i_f], nl.load(x[i_p, i_f]))\n    return out\n"
        )
    )
    assert any("it is not known what the index" in finding.message for finding in rewrite(kernel).findings)


def test_vectors_that_are_not_taken_apart_keep_their_maker():
    kernel = source(MAKER.format(vector=ARANGE)).replace("i_p, i_a, i_b = made(p, a, b)", "v = made(p, a, b)")
    kernel = kernel.replace("[i_p, i_a, i_b]", "[v[0], v[1], v[2]]")
    outcome = rewrite(kernel)
    assert "def made" in outcome.source and "v = made(p, a, b)" in outcome.source and outcome.findings
