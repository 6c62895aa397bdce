"""A parameter that a kernel loops over: tensors in a tuple, where its elements are used as tensors."""

from __future__ import annotations

from typing import Any

import pytest
from first_rung import rewrite
from nki_migrate.runtime.cases import TensorSpec

KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def k(x, given, others=()):
    out = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.load(x, dtype=nl.float32)
    {body}
    nl.store(out, tile)
    return out
"""
LOADED = "tile = nl.add(tile, nl.load({}, dtype=nl.float32))"
HELD = {
    "one by one": f"for w in given:\n        {LOADED.format('w')}",
    "with their number": f"for i, w in enumerate(given):\n        {LOADED.format('w')}",
    "two by two": f"for w, v in zip(given, given):\n        {LOADED.format('w')}\n        {LOADED.format('v')}",
    "in parts": "for w in given:\n        for h in nl.static_range(w.shape[0] // 64):\n"
    "            tile[h * 64 : h * 64 + 64, :] = nl.load(w[h * 64 : h * 64 + 64, :], dtype=nl.float32)",
    "with what they have": f"for w in given:\n        if w.dtype == nl.float32:\n            {LOADED.format('w')}",
}


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("what", HELD)
def test_its_elements_are_tensors(migrate: Any, what: str, count: int) -> None:
    tensors = [TensorSpec((128, 10), dtype, "normal") for dtype in ("float32", "bfloat16", "float32")[:count]]
    args = {"x": TensorSpec((128, 10), "float32", "normal"), "given": tensors}
    migration = migrate(KERNEL.format(body=HELD[what]), args)
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


def test_numbers_stay_numbers(migrate: Any) -> None:
    body = "for n in given:\n        tile = nl.multiply(tile, n)"
    args = {"x": TensorSpec((128, 10), "float32", "normal"), "given": [2.0, 0.5]}
    migration = migrate(KERNEL.format(body=body), args)
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


LEFT = {
    "one that is bound again": f"given = list(given)\n    for w in given:\n        {LOADED.format('w')}",
    "one that is handed on": f"for w in given:\n        {LOADED.format('w')}\n    print(given)",
}


@pytest.mark.parametrize("what", LEFT)
def test_one_of_which_more_might_be_told_is_left(what: str) -> None:
    assert any(finding.code == "NKI021" for finding in rewrite(KERNEL.format(body=LEFT[what])).findings)
