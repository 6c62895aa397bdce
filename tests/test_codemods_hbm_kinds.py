"""Tensors in HBM that calls pass to one function: a rank, or a size of 1, that a call has alone makes a copy."""

from __future__ import annotations

import pytest
from nki_migrate.runtime.cases import TensorSpec

HEAD = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


"""
SIZES = """\
def add_rows(x, rows, out):
    row = nl.load(rows)
    nl.store(out, nl.add(nl.load(x), row.broadcast_to((64, 32))))


@nki.jit
def k(x):
    one = nl.ndarray((64, 32), dtype=nl.float32, buffer=nl.shared_hbm)
    all_rows = nl.ndarray((64, 32), dtype=nl.float32, buffer=nl.shared_hbm)
    first = nl.ndarray((1, 32), dtype=nl.float32, buffer=nl.hbm)
    nl.store(first, nl.load(x[0:1, :]))
    whole = nl.ndarray((64, 32), dtype=nl.float32, buffer=nl.hbm)
    nl.store(whole, nl.load(x))
    add_rows(x, {first}, {first_out})
    add_rows(x, {second}, {second_out})
    return one, all_rows
"""


@pytest.mark.parametrize("swapped", [False, True])
def test_a_row_is_spread_only_where_it_is_one(migrate, swapped):
    """The first call passed one row, and the second had its first row written to all."""
    orders = [("first", "one"), ("whole", "all_rows")][:: -1 if swapped else 1]
    names = dict(zip(("first", "first_out", "second", "second_out"), (*orders[0], *orders[1]), strict=True))
    migration = migrate(HEAD + SIZES.format(**names), {"x": TensorSpec((64, 32), "float32")})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


RANKS = """\
def copied(src, dst):
    nl.store(dst[0], nl.load(src[0]))


def moved(src, dst, rows):
    src = src.reshape((rows, src.shape[-1]))
    dst = dst.reshape((rows, dst.shape[-1]))
    nl.store(dst, nl.load(src))


@nki.jit
def k(x, y):
    three = nl.ndarray((2, 16, 32), dtype=nl.float32, buffer=nl.shared_hbm)
    four = nl.ndarray((2, 8, 4, 16), dtype=nl.float32, buffer=nl.shared_hbm)
    unknown = nl.ndarray(y.shape, dtype=nl.float32, buffer=nl.shared_hbm)
    moved(x.reshape((2, 16, 32)), three, 32)
    copied(x.reshape((2, 16, 32)), three)
    moved(x.reshape((2, 8, 4, 16)), four, 64)
    copied(x.reshape((2, 8, 4, 16)), four)
    moved(y, unknown, 64)
    return three, four, unknown
"""


@pytest.mark.parametrize("shape", [(64, 16), (4, 16, 16), (2, 4, 8, 16)])
def test_a_tensor_of_unknown_rank_is_asserted_to_have_none_of_several(migrate, shape):
    args = {"x": TensorSpec((2, 16, 32), "float32"), "y": TensorSpec(shape, "float32")}
    migration = migrate(HEAD + RANKS, args)
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert "rewritten for" not in migration.outcome.source


def test_kinds_that_are_written_alike_share_a_copy(migrate):
    args = {"x": TensorSpec((2, 16, 32), "float32"), "y": TensorSpec((64, 16), "float32")}
    source = migrate(HEAD + RANKS, args).outcome.source
    assert source.count("def moved") == 1
    assert source.count("def copied") == 2


RESHAPED = """\
@nki.jit
def add_row(x, row):
    out = nl.ndarray((64, 32), dtype=x.dtype, buffer=nl.hbm)
    tile = nl.load(x[0:64, 0:32])
    nl.store(out, value=nl.add(tile, nl.load(row[0:1, :])))
    return out


@nki.jit
def with_bias(x, bias):
    return add_row(x, bias.reshape((1, 32)))


@nki.jit
def k(x, bias):
    found = with_bias(x, bias)
    out = nl.ndarray((64, 32), dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, value=nl.load(found))
    return out
"""


def test_what_a_launch_gives_and_a_called_kernel_reshapes_is_a_tensor(migrate):
    """Nothing else told it: ``k`` only hands ``bias`` on, and a helper may reshape a tile."""
    tensors = {"x": TensorSpec((64, 32), "float32"), "bias": TensorSpec((32,), "float32")}
    migration = migrate(HEAD + RESHAPED, tensors)
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
