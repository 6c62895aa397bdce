"""Slices with a step: the elements that NumPy takes, or a finding."""

from __future__ import annotations

from typing import Any

import pytest
from first_rung import rewrite
from nki_migrate.runtime.cases import TensorSpec

KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def k(x, n):
    rows, columns = x.shape[0], x.shape[1]
    out = nl.ndarray({shape}, dtype=x.dtype, buffer=nl.shared_hbm)
    i_f = nl.arange(4)[None, :]
    {body}
    return out
"""
READ = "tile = nl.load(x)\n    nl.store(out, nl.exp(tile[{index}]))"
LOADED = "nl.store(out, nl.load(x[{index}]))"
STORED = "nl.store(out, 0.0)\n    tile = nl.load(x[{index}])\n    nl.store(out[{index}], nl.add(tile, 1.0))"
WRITTEN = "tile = nl.load(x)\n    tile[{index}] = nl.multiply(tile[{index}], 2.0)\n    nl.store(out, tile)"
SLICES = [
    *("::2", "1::2", "0:columns:2", "1:columns:2", "2:n:3", "1:columns - 1:2", "::1", "3:9:3", "0:n + 1:n", "::n"),
    *("slice(0, columns, 2)", "slice(1, None, 3)"),
]


def taken(index: str, columns: int) -> int:
    return len(eval(f"list(range(columns))[{index}]", {"columns": columns, "n": 4}))


@pytest.mark.parametrize("body", [READ, LOADED, STORED, WRITTEN])
@pytest.mark.parametrize("index", SLICES)
@pytest.mark.parametrize("columns", [10, 11])
def test_a_step_takes_what_numpy_takes(migrate: Any, body: str, index: str, columns: int) -> None:
    shape = "(128, columns)" if body in (STORED, WRITTEN) else f"(128, {taken(index, columns)})"
    text = KERNEL.format(shape=shape, body=body.format(index=f"0:128, {index}"))
    migration = migrate(text, {"x": TensorSpec((128, columns), "float32", "normal"), "n": 4})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert ("step forwards" in migration.outcome.source) == index.endswith(":n")


@pytest.mark.parametrize("index", ["0:128, ::2, 1::2", "0:128, 1, ::2", "0:128, ::3, 2", "0:64, nl.ds(2, 3), ::2"])
@pytest.mark.parametrize("body", [READ, WRITTEN, STORED])
def test_several_dimensions(migrate: Any, index: str, body: str) -> None:
    sizes = {"0:128, ::2, 1::2": "(128, 3, 4)", "0:128, 1, ::2": "(128, 4)", "0:128, ::3, 2": "(128, 2)"}
    shape = sizes.get(index, "(64, 3, 4)") if body == READ else "(128, 6, 8)"
    migration = migrate(
        KERNEL.format(shape=shape, body=body.format(index=index)), {"x": TensorSpec((128, 6, 8), "float32"), "n": 4}
    )
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


def test_rows_of_a_tensor_in_hbm(migrate: Any) -> None:
    body = LOADED.format(index="0:rows:2, 0:columns")
    args = {"x": TensorSpec((128, 6), "float32", "normal"), "n": 4}
    migration = migrate(KERNEL.format(shape="(64, columns)", body=body), args)
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


@pytest.mark.parametrize("index", ["0:128:2, 0:columns", "0:128, ::-1", "0:128, ::x", "i_f, ::2", "0:128, 8:0:-2"])
def test_what_no_pattern_takes_is_left(index: str) -> None:
    outcome = rewrite(KERNEL.format(shape="(128, columns)", body=READ.format(index=index)))
    assert any(finding.code == "NKI024" for finding in outcome.findings)
    assert f"nl.store(out, nl.exp(tile[{index}]))" in outcome.source
