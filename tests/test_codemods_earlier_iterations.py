"""What the body of a loop reads before it binds it is of the iteration before: a tensor is not taken for a number."""

from __future__ import annotations

import pytest
from first_rung import rewrite
from nki_migrate.runtime.cases import TensorSpec

KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


def loaded(x, i):
    return nl.load(x[i]), 2 * i


@nki.jit
def k(x):
    tiles, rows, columns = x.shape
    out = nl.ndarray((tiles, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    whole = nl.ndarray((rows, tiles, columns), dtype=x.dtype, buffer=nl.sbuf)
    kept = nl.zeros((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    buffers = [kept]
    for i in nl.static_range(tiles):
        if i > 0:
            {read}
        {bound}
    return out
"""
X = {"x": TensorSpec((3, 32, 8), "float32", "normal")}
STORE = "nl.store(out[i - 1], value=t)"

TENSORS = {
    "a tile that is loaded": (STORE, "t = nl.load(x[i])"),
    "a tile that is computed": (STORE, "t = nl.multiply(kept, 2.0)"),
    "a part of a tile": (STORE, "t = whole[:, i, :]"),
    "a tile of a list": (STORE, "t = buffers[0]"),
    "a tile of a function": (STORE, "t, _ = loaded(x, i)"),
    "an operand": ("kept[...] = nl.add(kept, t)", "t = nl.load(x[i])"),
    "a destination": ("t[...] = nl.copy(kept)", "t = whole[:, i, :]"),
}
NUMBERS = {
    "an index": ("kept[...] = nl.load(x[n])", "n = i"),
    "a size": ("kept[:, 0:n] = nl.multiply(kept[:, 0:n], 2.0)", "n = min(8, i + 2)"),
}


def kernel(case):
    return KERNEL.replace("{read}", case[0]).replace("{bound}", case[1])


@pytest.mark.parametrize("name", TENSORS)
def test_a_tensor_is_said(name):
    source = kernel(TENSORS[name])
    read = 2 + source[: source.index("if i > 0:")].count("\n")
    assert read in [finding.line for finding in rewrite(source).findings]


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_is_one(migrate, name):
    source = kernel(NUMBERS[name]).replace("    return out\n", "        nl.store(out[i], value=kept)\n    return out\n")
    migration = migrate(source, X)
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


FIRST = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def k(x):
    tiles, rows, columns = x.shape
    out = nl.ndarray((tiles, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.static_range(tiles):
        {bound}
        t = nl.load(x[i])
        nl.store(out[i], value=nl.multiply(t, first))
    return out
"""


@pytest.mark.parametrize(
    "bound",
    [
        "if i == 0:\n            first = nl.load(x[0])",
        "if i > 0:\n            pass\n        else:\n            first = nl.load(x[0])",
        "if i == 0:\n            if rows > 1:\n                first = nl.load(x[0])\n"
        "            else:\n                first = nl.load(x[i])",
        "for _ in nl.static_range(0 if i else 1):\n            first = nl.load(x[0])",
    ],
)
def test_a_tile_that_the_first_iteration_makes_is_one_in_all(migrate, bound):
    migration = migrate(FIRST.format(bound=bound), X)
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
