"""Loops over ``np.ndindex``: one index counts all elements, row by row, or the loop is left with a finding."""

from __future__ import annotations

import re

import numpy as np
import pytest
from first_rung import rewrite

KERNEL = """\
import numpy as np
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def k(x, a, b, c):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    blocks = nl.ndarray((a + 1, b - 1, nl.par_dim(128), 64), dtype=x.dtype, buffer=nl.sbuf)
    for {target} in np.ndindex({sizes}):
        {body}
    nl.store(out, tile)
    return out
"""


SIZES = [
    *(["a"], ["a", "b"], ["a + 1", "b"], ["a", "b - 1", "c"], ["a", "x.shape[1]", "2"]),
    ["blocks.shape[0]", "blocks.shape[1]", "c"],  # sums in the output, where these are lists
]


@pytest.mark.parametrize("sizes", SIZES)
def test_the_indices_are_those_of_numpy(sizes: list[str]) -> None:
    variables = ["i", "j", "m"][: len(sizes)]
    target = ", ".join(variables) + ("," if len(variables) == 1 else "")
    outcome = rewrite(KERNEL.format(target=target, sizes=", ".join(sizes), body="print(i)"))
    assert not outcome.findings
    loop = re.search(r"( +for index in range.*\n(?: {8}\w+ = .*\n)+)", outcome.source)
    assert loop is not None, outcome.source
    for a, b, c in [(1, 1, 1), (2, 3, 4), (3, 1, 2), (0, 2, 1), (2, 0, 3)]:
        values = {"a": a, "b": max(b, 1), "c": c, "x": np.zeros((2, 5)), "found": []}
        values["blocks"] = np.zeros((values["a"] + 1, values["b"] - 1))
        exec("if True:\n" + loop[1] + f"        found.append(({', '.join(variables)},))\n", values)
        assert values["found"] == list(np.ndindex(*(eval(size, values) for size in sizes)))


@pytest.mark.parametrize(
    ("target", "sizes", "body"),
    [
        ("i, j", "a, b", "b = b - 1"),
        ("i, j", "a, blocks.shape[1]", "b = b - 1"),
        ("place", "a, b", "print(place)"),
        ("i, j", "x.shape[:2]", "print(i)"),
        ("i, j", "(a, b)", "print(i)"),
        ("i, j", "*x.shape", "print(i)"),
    ],
)
def test_what_may_change_or_is_not_listed_is_left(target: str, sizes: str, body: str) -> None:
    outcome = rewrite(KERNEL.format(target=target, sizes=sizes, body=body))
    assert [finding.code for finding in outcome.findings] == ["NKI091"]
    assert f"for {target} in np.ndindex({sizes}):" in outcome.source
