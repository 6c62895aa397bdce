"""Index vectors of one element, and those that are taken no times, are numbers where another walks their dimension."""

from __future__ import annotations

import pytest
from nki_migrate.runtime.cases import TensorSpec

KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def k(x):
    n, p, f = x.shape
    out = nl.ndarray((n, p, f), dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out[0], nl.load(x[0]))
    one = nl.arange(1)[:, None]
    row = nl.arange(1)[None, :]
    i_p = nl.arange(p)[:, None]
    i_f = nl.arange(f)[None, :]
    for b in nl.static_range(1, n):
        tile = nl.load(x[{access}])
        nl.store(out[{access}], nl.multiply(tile, 2.0))
        {more}
    return out
"""


@pytest.mark.parametrize(
    ("access", "written", "more"),
    [
        ("one * 0 + b, one, i_f", "[b : b + 1, 0, :]", "nl.store(out[b, 1:p], nl.load(x[b, 1:p]))"),
        ("one + b, one + 1, i_f", "[b : b + 1, 1, :]", "nl.store(out[b, 0], nl.load(x[b, 0]))"),
        ("i_p * 0 + b, i_p, i_f", "[b, :, :]", "pass"),
        ("row * 0 + b, i_p, i_f", "[b, :, :]", "pass"),
        ("one + b, i_p, i_f", "[b, :, :]", "pass"),
        ("b, row + i_p, i_f + one", "[b, :, :]", "pass"),
        ("b + 0 * i_f, i_p, i_f", "[b, :, :]", "pass"),
        ("b, i_p, row", "[b, :, 0:1]", "nl.store(out[b, 0:p, 1:f], nl.load(x[b, 0:p, 1:f]))"),
        ("b, i_p, 3 * row", "[b, :, 0:1]", "nl.store(out[b, 0:p, 1:f], nl.load(x[b, 0:p, 1:f]))"),
    ],
)
def test_what_is_one_number_is_written_as_one(migrate, access, written, more):
    migration = migrate(KERNEL.format(access=access, more=more), {"x": TensorSpec((3, 2, 6), "float32", "normal")})
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert written in migration.outcome.source and ".ap(" not in migration.outcome.source


def test_vectors_of_different_sizes_in_one_dimension_are_left(migrate):
    source = KERNEL.format(access="b, i_p + one, i_f", more="pass")
    migration = migrate(source, {"x": TensorSpec((3, 2, 6), "float32", "normal")})
    said = [finding.message for finding in migration.outcome.findings]
    assert any("two index vectors of different sizes in one dimension" in message for message in said)
