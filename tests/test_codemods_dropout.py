"""Dropout in a helper that gets its tile and its rates as parameters."""

from __future__ import annotations

import pytest
from first_rung import Options, rewrite
from nki_migrate.runtime.cases import TensorSpec

KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


def dropped(t, rate):
    t[:, :] = nl.dropout(t[:, :], rate={rate})


@nki.jit
def k(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.load(x)
    rate = nl.full(({rows}, 1), fill_value=0.25, dtype=nl.float32)
    nl.random_seed(seed=17)
    dropped(t, rate)
    nl.store(out, value=t)
    return out
"""
X = TensorSpec((64, 40), "float32", "normal")
UNSAFE = Options(unsafe=True)


@pytest.mark.parametrize("rate", ["rate[:, 0]", "rate", "rate[0:64, 0:1]", "rate[nl.arange(64)[:, None], 0]"])
def test_a_rate_for_each_partition_of_a_tile_of_unknown_rows(migrate, rate):
    migration = migrate(KERNEL.format(rate=rate, rows=64), {"x": X}, UNSAFE)
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


@pytest.mark.parametrize(("rate", "rows"), [("rate[:, 0]", 1), ("rate", 128)])
def test_rates_of_other_rows_end_the_rewritten_kernel(migrate, rate, rows):
    migration = migrate(KERNEL.format(rate=rate, rows=rows), {"x": X}, UNSAFE)
    assert any("rewritten for a dropout rate for each partition" in trouble for trouble in migration.trouble)
    assert not any(trouble.startswith("old") for trouble in migration.trouble)


SEEDED = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def k(x, seed):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.random_seed(seed={seed})
    nl.store(out, value=nl.dropout(nl.load(x), rate=0.5))
    return out
"""


@pytest.mark.parametrize("seed", ["nl.full((1, 1), 7, dtype=nl.float32)", "nl.load(seed, dtype=nl.int16)"])
def test_a_seed_of_other_bits_than_those_of_a_number_is_left(seed):
    assert [f.code for f in rewrite(SEEDED.format(seed=seed), UNSAFE).findings][:1] == ["NKI032"]


@pytest.mark.parametrize(("dtype", "is_equal"), [("int32", True), ("uint32", True), ("float32", False)])
def test_a_seed_of_a_launch_is_an_integer_of_32_bits(migrate, dtype, is_equal):
    args = {"x": X, "seed": TensorSpec((1, 1), dtype, "integers", low=3, high=9)}
    migration = migrate(SEEDED.format(seed="nl.load(seed)"), args, UNSAFE)
    assert (migration.trouble == ()) == is_equal
    assert is_equal or any("rewritten for a seed of 32 bits" in trouble for trouble in migration.trouble)
