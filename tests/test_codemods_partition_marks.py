"""``par_dim`` under a name marks the partition dimension as it does in a shape: no tensor loses its blocks unsaid."""

from __future__ import annotations

import pytest
from first_rung import rewrite
from nki_migrate.runtime.cases import TensorSpec

KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl
from neuronxcc.nki.language import par_dim


def marked(size):
    return nl.par_dim(size)


class Sizes:
    def __init__(self, rows):
        self.rows = rows


@nki.jit
def k(x, high):
    n, rows, columns = x.shape
    out = nl.ndarray((n, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
{shape}
    tile = nl.ndarray(shape, dtype=x.dtype, buffer=nl.sbuf)
    for i in nl.affine_range(n):
        tile[i] = nl.load(x[i])
        nl.store(out[i], value=tile[i])
    return out
"""
X = {"x": TensorSpec((3, 32, 16), "float32", "normal"), "high": True}

TOLD = {
    "a shape": "shape = (n, nl.par_dim(rows), columns)",
    "a list": "shape = [n, par_dim(rows), columns]",
    "a size": "p = nl.par_dim(rows)\nshape = (n, p, columns)",
    "a size of two names": "p = nl.par_dim(rows)\nq = p\nshape = (n, q, columns)",
    "a tuple of names": "shape, _ = (n, par_dim(rows), columns), 1",
    "either side": "p = nl.par_dim(rows) if high else par_dim(32)\nshape = (n, p, columns)",
}
UNTOLD = {
    "one side": "p = nl.par_dim(rows) if high else rows\nshape = (n, p, columns)",
    "one branch": "p = rows\nif high:\n    p = nl.par_dim(rows)\nshape = (n, p, columns)",
    "a function": "shape = (n, marked(rows), columns)",
    "a field": "sizes = Sizes(nl.par_dim(rows))\nshape = (n, sizes.rows, columns)",
    "an element": "sizes = {'p': nl.par_dim(rows)}\nshape = (n, sizes['p'], columns)",
    "two shapes": "shape = (n, rows, columns)\nif high:\n    shape = (n, nl.par_dim(rows), columns)",
}


def kernel(shape):
    lines = [f"    {line}" for line in shape.split("\n")]
    return KERNEL.replace("{shape}", "\n".join(lines))


@pytest.mark.parametrize("name", TOLD)
def test_what_stands_before_the_mark_are_blocks(migrate, name):
    migration = migrate(kernel(TOLD[name]), X)
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


@pytest.mark.parametrize("name", UNTOLD)
def test_a_mark_that_nothing_tells_is_said_at_the_declaration(name):
    source = kernel(UNTOLD[name])
    line = 1 + source[: source.index("tile = nl.ndarray")].count("\n")
    assert any(f.code == "NKI010" and f.line in (line, line - 1) for f in rewrite(source).findings)


@pytest.mark.parametrize("size", ["sizes.rows", "sizes[1]", "total(rows)", "rows"])
def test_sizes_are_numbers_where_no_module_hands_out_a_mark(size):
    source = f"""\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


def total(n):
    return n


@nki.jit
def k(x, sizes, rows):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((128, {size}, 4), dtype=x.dtype, buffer=nl.sbuf)
    tile[...] = nl.load(x)
    nl.store(out, value=tile)
    return out
"""
    assert [f for f in rewrite(source).findings if f.code == "NKI010"] == []
