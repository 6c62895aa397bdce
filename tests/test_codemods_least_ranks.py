"""Subscripts of tensors of unknown rank that name fewer dimensions than the function shows them to have."""

from __future__ import annotations

import pytest
from first_rung import rewrite
from nki_migrate.runtime.cases import TensorSpec

KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def k(q, flag=False):
    {lines}
    return out
"""
OUT = "out = nl.ndarray((2, 3, 16, 8), dtype=q.dtype, buffer=nl.shared_hbm)"
COPY = (
    "for i in nl.affine_range(2):\n        for j in nl.affine_range(3):\n            nl.store(out[i, j], nl.load({}))"
)


def kernel(*lines: str) -> str:
    return KERNEL.format(lines="\n    ".join(lines))


@pytest.mark.parametrize(
    "evidence",
    [
        "columns = q.shape[3]",
        "columns = q.shape[-4]",
        "assert len(q.shape) == 4",
        "assert q.ndim == 4 and q.dtype == nl.float32",
        "nl.store(out[0, 0, 0:16, 0:8], nl.load(q[0, 0, 0:16, 0:8]))",
    ],
)
@pytest.mark.parametrize("part", ["q[i, j]", "q[i, j][0:16, 0:8]", "q[i, j, 0:16]"])
def test_the_rest_of_the_function_tells_the_rank(migrate, evidence, part):
    migration = migrate(kernel(OUT, evidence, COPY.format(part)), {"q": TensorSpec((2, 3, 16, 8), "float32", "normal")})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


@pytest.mark.parametrize("evidence", ["columns = q.shape[2]", "assert len(q.shape) == 3"])
def test_one_dimension_that_is_left_is_a_column(migrate, evidence):
    out = "out = nl.ndarray((16, 1), dtype=q.dtype, buffer=nl.shared_hbm)"
    source = kernel(out, evidence, "nl.store(out, nl.load(q[1, 2]))")
    migration = migrate(source, {"q": TensorSpec((2, 3, 16), "float32", "normal")})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    deep = migrate(source, {"q": TensorSpec((2, 3, 16, 1), "float32", "normal")})
    assert deep.trouble == () or deep.trouble[0].startswith("before: error")


def test_another_branch_may_have_another_rank(migrate):
    branches = "if flag:\n        nl.store(out[0, 0], nl.load(q[0, 0, 0:16, 0:8]))\n    else:\n        nl.store({})"
    source = kernel(OUT, branches.format("out[0, 0, 0:1, 0:1], nl.load(q[1, 1])"))
    plain = {"q": TensorSpec((2, 3), "float32", "normal")}
    deep = {"q": TensorSpec((2, 3, 16, 8), "float32", "normal"), "flag": True}
    for args in (plain, deep):
        migration = migrate(source, args)
        assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


@pytest.mark.parametrize("line", ["columns = q.shape[-1]", "rows = q.shape[:-2]", "*lead, rows, columns = q.shape"])
def test_a_dimension_counted_from_the_end_may_be_one_that_no_subscript_names(migrate, line):
    source = kernel(line, OUT, "tile = nl.load(q[0, 1])", "nl.store(out[0, 1], nl.exp(tile))")
    migration = migrate(source, {"q": TensorSpec((2, 3, 16, 8), "float32", "normal")})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


def test_a_name_that_is_bound_again_tells_no_rank():
    source = kernel("q = q.reshape((2, 3, 16, 8))", OUT, "tile = nl.load(q[0, 1])", "nl.store(out[0, 1], tile)")
    assert rewrite(source).findings == ()
