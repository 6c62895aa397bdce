"""Tiles of unknown shapes: what Beta 1 repeats and Beta 2 refuses is said to be taken for tiles of one shape."""

from __future__ import annotations

import pytest
from first_rung import rewrite
from nki_migrate.codemods.model import Options
from nki_migrate.runtime.cases import TensorSpec
from nki_migrate.runtime.compare import Failure

IMPORTS = """\
import numpy as np
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


"""
HELPER = """\
def both(a, c):
    {lines}return {value}


"""
KERNEL = """\
@nki.jit
def k(x, w):
    out = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.shared_hbm)
    {loads}
    nl.store(out, {value})
    return out
"""
VALUES = (
    "nl.add(a, c, dtype=nl.float32)",
    "nl.subtract(c, a, dtype=nl.float32)",
    "a * c",
    "nl.less(a, c, dtype=nl.float32)",
    "nl.maximum(nl.multiply(a, 2.0, dtype=nl.float32), c, dtype=nl.float32)",
    "nisa.tensor_tensor(a, c, np.add, dtype=nl.float32)",
    "nisa.tensor_tensor(c, a, np.multiply, dtype=nl.float32)",
    "nisa.scalar_tensor_tensor(data=a, op0=np.multiply, operand0=2.0, op1=np.add, operand1=c, dtype=nl.float32)",
    "nl.where(a > 0.5, a, c, dtype=nl.float32)",
)
LOADS = {
    "whole": "a, c = nl.load(x), nl.load(w)",
    "one named": "n, m = x.shape\n    a, c = nl.load(x[0:n, 0:m]), nl.load(w)",
    "both named": "n, m = x.shape\n    p, q = w.shape\n    a, c = nl.load(x[0:n, 0:m]), nl.load(w[0:p, 0:q])",
}
SHAPES = [(16, 8), (16, 1), (1, 8)]


def source(value: str, loads: str, helper: bool, lines: str = "") -> str:
    if not helper:
        return IMPORTS + KERNEL.format(loads=loads, value=value)
    return IMPORTS + HELPER.format(lines=lines, value=value) + KERNEL.format(loads=loads, value="both(a, c)")


@pytest.mark.parametrize("helper", [True, False])
@pytest.mark.parametrize("loads", LOADS)
@pytest.mark.parametrize("value", VALUES)
def test_what_beta2_refuses_is_assumed_or_told_by_the_kernel(migrate, value, loads, helper):
    text = source(value, LOADS[loads], helper)
    for shape in SHAPES:
        args = {"x": TensorSpec((16, 8), "float32", "normal"), "w": TensorSpec(shape, "float32", "normal")}
        migration = migrate(text, args, Options(target="0.2"))
        outcome = migration.outcome
        if outcome.findings:
            assert "nl.where" in value
        elif isinstance(migration.before, Failure):
            continue
        elif shape == (16, 8):
            assert (migration.objection, migration.trouble) == (None, ())
        elif isinstance(migration.after, Failure):
            assert [a.text for a in outcome.asserted if "tiles of" in a.why], outcome.source


@pytest.mark.parametrize(
    ("value", "loads", "lines"),
    [
        ("nl.add(a, c)", LOADS["whole"], "assert a.shape == c.shape\n    "),
        ("nisa.tensor_tensor(a, c, np.add)", LOADS["whole"], "assert c.shape == a.shape\n    "),
        ("nisa.tensor_tensor(a, a, np.add)", LOADS["whole"], ""),
    ],
)
def test_what_the_source_tells_is_not_assumed(value, loads, lines):
    assert not _assumed(source(value, loads, True, lines))


@pytest.mark.parametrize("value", VALUES)
def test_tiles_of_sizes_that_the_kernel_names_are_not_assumed_to_have_one_shape(value):
    loads = "n, m = x.shape\n    a, c = nl.load(x[0:n, 0:m]), nl.load(w[0:n, 0:m])"
    assert not _assumed(source(value, loads, False))
    columns = loads.replace("w[0:n, 0:m]", "w[0:n, 0:1]")
    assert not _assumed(source(value, columns, False))


def _assumed(text: str) -> list[str]:
    return [a.text for a in rewrite(text, Options(target="0.2")).asserted if a.why.endswith("tiles of one shape")]


@pytest.mark.parametrize("value", VALUES)
def test_only_what_a_sum_would_hide_is_asserted(migrate, value):
    """Functions of Beta 1 repeat both of (6, 4, 1) and (6, 1, 4), its instructions neither."""
    text = source(f"nl.sum({value}, axis=[1, 2])", LOADS["whole"], False).replace(
        "nl.ndarray(x.shape", "nl.ndarray((6, 1)"
    )
    deep = TensorSpec((6, 4, 1), "float32", "normal")
    migration = migrate(text, {"x": deep, "w": TensorSpec((6, 1, 4), "float32", "normal")}, Options(target="0.2"))
    if value.startswith("nisa."):
        assert isinstance(migration.before, Failure) or migration.trouble == ()
        assert "rewritten for tiles" not in migration.outcome.source
    elif not migration.outcome.findings:
        assert any("rewritten for tiles of one shape" in line for line in migration.trouble)
