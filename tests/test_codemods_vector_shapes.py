"""The shape of an index vector goes with it; what a statement that is left alone reads stays, and nothing else."""

import pytest
from first_rung import Options, rewrite
from nki_migrate.runtime.cases import TensorSpec

HEAD = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
"""
SHAPED = HEAD + """\
def k(x):
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.shared_hbm)
    i = nl.arange(rows)[:, None]
    j = nl.arange(columns // 2)[None, :]
    grid = nl.mgrid[0:rows, 0:3]
    a, b = nl.mgrid[0:rows, 0:columns - 1]
    tile = nl.load(x)
    nl.store(out, nl.multiply(tile, float({size})))
    return out
"""
SIZES = [f"{vector}.shape[{d}]" for vector in ("i", "j", "grid.p", "grid.x", "a", "b", "(i + 2 * j)") for d in (0, -1)]


@pytest.mark.parametrize("size", [*SIZES, "i.ndim", "len(b.shape)", "j.shape[1] * i.shape[0] % 7", "-a.shape[1]"])
def test_sizes_of_vectors_are_what_they_were(migrate, size):
    migration = migrate(SHAPED.format(size=size), {"x": TensorSpec((4, 8), "float32", "normal")})
    assert migration.objection is None and migration.trouble == () and migration.outcome.findings == ()
    assert "nl.arange" not in migration.outcome.source and "mgrid" not in migration.outcome.source


LEFT = HEAD + """\
def k(x, y):
    out = nl.ndarray((4, 8), dtype=nl.float32, buffer=nl.shared_hbm)
    v = nl.arange(4)[:, None]
    w = nl.arange(8)[None, :]
    nl.store(out[v, w], nl.load(x[v, w]))
{lines}
    return out
"""


@pytest.mark.parametrize(
    ("lines", "kept"),
    [
        ("v = nl.arange(2)[:, None]\nprint(v)", [12]),
        ("w = nl.arange(2)[None, :]\nprint(w)\nw = nl.arange(8)[None, :]\nnl.store(out[v, w], nl.load(y))", [12]),
        ("if y is None:\n    v = nl.arange(2)[:, None]\nprint(v)", [9, 13]),
        ("for n in range(2):\n    print(v)\n    v = nl.arange(2)[:, None]", [9, 14]),
        ("m = v < 3\nw = nl.arange(3)[None, :]\nprint(m)", [9, 12]),
        ("def inner(t):\n    print(v)\n    return t\nnl.store(out, inner(nl.load(y)))", [9]),
        ("print(v) if y else print(w)", [9, 10]),
    ],
    ids=["bound again", "between", "in a branch", "around a loop", "through a mask", "in a function", "both"],
)
def test_a_statement_that_is_left_keeps_the_vectors_that_it_may_see(lines, kept):
    source = LEFT.format(lines="\n".join(f"    {line}" for line in lines.splitlines()))
    findings = rewrite(source, Options(unsafe=True)).findings
    assert sorted(f.line for f in findings if "is kept for a statement" in f.message) == kept, findings


SELECTED = HEAD + """\
def k(x):
    n = x.shape[0]
    out = nl.ndarray((n, n), dtype=nl.float32, buffer=nl.shared_hbm)
    i = nl.arange(n)[:, None]
    j = nl.arange(n)[None, :]
    tile = nl.load(x)
    nl.store(out, nisa.affine_select(pred=(j <= i), on_true_tile=tile, on_false_value=-2.0))
    return out
"""


def test_a_predicate_tells_the_rank_of_the_tile(migrate):
    migration = migrate(SELECTED, {"x": TensorSpec((8, 8), "float32", "normal")})
    assert migration.objection is None and migration.trouble == () and migration.outcome.findings == ()
