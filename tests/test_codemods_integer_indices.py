"""Integers among the indices of a tile: the partition stays a dimension, where Beta 2 would drop it."""

from __future__ import annotations

import itertools

import pytest
from nki_migrate.runtime.cases import TensorSpec

KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def k(x):
    out = nl.ndarray((128, 2, 6), dtype=x.dtype, buffer=nl.shared_hbm)
    i_p = nl.arange(128)[:, None]
    i_f = nl.arange(6)[None, :]
    tile = nl.load(x)
    for a in nl.sequential_range(3):
        for b in nl.sequential_range(2):
            tile[{index}] = {value}
    nl.store(out, value=tile)
    return out
"""
INDICES = [", ".join(parts) for parts in itertools.product(("32 * a", "64", "i_p"), ("b", "0"), ("a + b", "3", "i_f"))]
VALUES = ("nl.multiply(tile[{index}], 0.5)", "nl.load(x[{index}])", "nl.copy(tile[{index}])")


@pytest.mark.parametrize("index", INDICES)
@pytest.mark.parametrize("value", VALUES)
def test_a_part_of_a_tile_has_its_partition(migrate, index, value):
    source = KERNEL.format(index=index, value=value.format(index=index))
    migration = migrate(source, {"x": TensorSpec((128, 2, 6), "float32")})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
