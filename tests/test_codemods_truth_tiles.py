"""Truth values keep the type that they had where it shows: sums of them are no counts in Beta 1."""

from __future__ import annotations

import pytest
from first_rung import rewrite
from nki_migrate.runtime.cases import TensorSpec

KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import numpy as np


@nki.jit
def k(x, y):
    n, m = x.shape
    a, b = nl.load(x), nl.load(y)
    c = nl.greater(a, 0)
    d = nl.less(b, a)
    result = {}
    out = nl.ndarray(result.shape, dtype={}, buffer=nl.shared_hbm)
    nl.store(out, result)
    return out
"""
ARGS = {name: TensorSpec((16, 16), "float32") for name in "xy"}


@pytest.mark.parametrize(
    "result",
    [
        "nl.add(c, d)",
        "nl.subtract(c, d)",
        "nl.multiply(c, 2.5)",
        "c + c",
        "-c",
        "nl.sum(c, axis=1)",
        "nl.sum(c[:, 0:8], axis=1)",
        "nl.exp(c)",
        "nl.logical_or(c, d) + c",
        "nl.copy(c)",
        "nl.where(c, c, d)",
        "nisa.tensor_scalar(c, np.multiply, 3)",
        "nisa.tensor_reduce(np.add, c, axis=1)",
        "nisa.tensor_tensor(a, b, np.greater)",
        "nisa.tensor_tensor(c, d, np.add)",
    ],
)
@pytest.mark.parametrize("dtype", ["nl.float32", "result.dtype"])
def test_what_is_computed_of_truth_values_stays(migrate, result, dtype):
    migration = migrate(KERNEL.format(result, dtype), ARGS)
    assert (migration.outcome.findings, migration.objection) == ((), None)
    assert not [text for text in migration.trouble if not text.startswith(("operands", " "))]


@pytest.mark.parametrize(
    "result", ["nl.where(nl.greater(a, 0), a, b)", "nl.where(nl.logical_and(c, d), a, b)", "nl.where(c, a, d)"]
)
def test_what_only_chooses_is_a_tile_that_beta_2_chooses_by(migrate, result):
    migration = migrate(KERNEL.format(result, "nl.float32").replace("{}", "a"), ARGS)
    assert (migration.outcome.findings, migration.objection) == ((), None)
    assert not [text for text in migration.trouble if not text.startswith(("operands", " "))]
    assert "op0=nl.not_equal" not in migration.outcome.source


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32", "uint8"])
def test_a_mean_of_integers_is_no_integer(migrate, dtype):
    args = {name: TensorSpec((16, 16), dtype, "integers") for name in "xy"}
    migration = migrate(KERNEL.format("nl.mean(a, axis=1)", "nl.float32"), args)
    floats = dtype in ("float32", "bfloat16")
    assert (migration.trouble == ()) == floats
    assert floats or any("rewritten for floats" in text for text in migration.trouble)


def test_truth_values_of_a_known_type_are_not_asked_for_their_uses():
    assert (
        "bool_" not in rewrite(KERNEL.format("nl.greater(a, b, dtype=nl.uint8)", "nl.uint8")).source.partition("@")[2]
    )


@pytest.mark.parametrize("compared", ["a > b", "a <= 0.25", "0.25 >= a", "a == b", "a != nl.abs(a)"])
@pytest.mark.parametrize("result", ["nl.where(e, a, b)", "nl.add(e, e)", "nl.multiply(e, b)"])
def test_operators_compare_as_functions_do(migrate, compared, result):
    source = KERNEL.replace("d = nl.less(b, a)", f"e = {compared}").format(result, "nl.float32")
    migration = migrate(source, ARGS)
    assert (migration.outcome.findings, migration.objection) == ((), None)
    assert not [text for text in migration.trouble if not text.startswith(("operands", " "))]
