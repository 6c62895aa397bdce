"""``nl.load(x[i])`` of a parameter whose rank nothing tells: a tile of two dimensions at least, whatever it is."""

from __future__ import annotations

import pytest
from nki_migrate.runtime.cases import TensorSpec

KERNEL = """\
import numpy as np
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


def loaded(part):
    return nl.load(part)


@nki.jit
def k(x, i=1, j=2):
    {lines}
    return out
"""
OUT = "out = nl.ndarray(tile.shape, dtype=nl.float32, buffer=nl.shared_hbm)"


def kernel(*lines: str) -> str:
    return KERNEL.format(lines="\n    ".join(lines))


SHAPES = [(6,), (6, 5), (6, 5, 7), (6, 5, 4, 3)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    "lines",
    [
        ("tile = nl.load(x[i])", OUT, "nl.store(out, tile)"),
        ("tile: object = nl.load(x[i])", OUT, "nl.store(out, tile)"),
        ("tile = nl.load(x[i], dtype=nl.bfloat16)", OUT, "nl.store(out, nl.exp(tile))"),
        ("tile = nl.load(x[i])", OUT, "nl.store(out, tile * tile + 1.0)"),
        ("tile = nl.load(x[i])", OUT, "nl.store(out, nisa.tensor_scalar(tile, np.add, 2.0))"),
        ("tile = nl.load(x[i])", OUT, "nl.store(out, nl.subtract(nl.load(x[j]), tile))"),
        ("part = x[i]", "tile = nl.load(part, dtype=x.dtype)", OUT, "nl.store(out, tile)"),
        ("assert x.dtype == nl.float32", "tile = loaded(x[i])", OUT, "nl.store(out, tile)"),
        ("tile = nl.load(x[i])", OUT, "for p in nl.sequential_range(3):\n        nl.store(out, nl.load(x[p]))"),
    ],
)
def test_any_rank(migrate, lines, shape):
    migration = migrate(kernel(*lines), {"x": TensorSpec(shape, "float32", "normal")})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


@pytest.mark.parametrize("shape", SHAPES[1:])
def test_two_indices(migrate, shape):
    source = kernel("tile = nl.load(x[i, j])", OUT, "nl.store(out, nl.exp(tile))")
    migration = migrate(source, {"x": TensorSpec(shape, "float32", "normal")})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


@pytest.mark.parametrize(
    "lines",
    [
        ("wide[...] = nl.add(nl.zeros((4, 8), dtype=nl.float32), tile.broadcast_to((4, 8)))",),
        ("twice = nl.add(tile, tile)", "wide[...] = nl.broadcast_to(twice, shape=(4, 8))"),
        ("wide[0:1, 0:1] = nl.add(tile[0, 0], 1.0)", "wide[...] = nl.load(y)"),
    ],
)
def test_a_part_that_may_have_to_be_one_element_is_asserted_to_be_one(migrate, lines):
    out = "out = nl.ndarray((4, 8), dtype=nl.float32, buffer=nl.shared_hbm)"
    wide = "wide = nl.ndarray((4, 8), dtype=nl.float32, buffer=nl.sbuf)"
    source = kernel(out, "tile = nl.load(x[i])", wide, *lines, "nl.store(out, wide)").replace("k(x, ", "k(x, y, ")
    args = {"y": TensorSpec((4, 8), "float32", "normal")}
    migration = migrate(source, {"x": TensorSpec((6,), "float32", "normal"), **args})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    deep = migrate(source, {"x": TensorSpec((6, 4, 8), "float32", "normal"), **args})
    assert any("rewritten for 1 dimension" in line for line in deep.trouble)
