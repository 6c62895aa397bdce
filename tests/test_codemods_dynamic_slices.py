"""``nl.ds(start, size)``: a part of a dimension, whose arguments may have names."""

from __future__ import annotations

import pytest
from nki_migrate.codemods import Options
from nki_migrate.runtime.cases import TensorSpec

SOURCE = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def k(x):
    out = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(2):
        t = nl.load(x[0:128, {part}])
        nl.store(out[0:128, {part}], nl.exp(t))
    return out
"""


@pytest.mark.parametrize("part", ["start=i * 32, size=32", "i * 32, size=32", "size=32, start=i * 32"])
@pytest.mark.parametrize("target", ["0.2", "0.6"])
def test_the_arguments_may_have_names(migrate, part, target):
    source = SOURCE.format(part=f"nl.ds({part})")
    migration = migrate(source, {"x": TensorSpec((128, 64), "float32", "normal")}, Options(target=target))
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
