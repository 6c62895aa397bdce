"""One spelling for an operator with swapped sides: ``2 > x`` and ``x < 2`` are one instruction in a record."""

from __future__ import annotations

import numpy as np
import pytest
from first_rung import Options
from hypothesis import given
from hypothesis import strategies as st
from nki_migrate.runtime.cases import TensorSpec
from nki_migrate.runtime.isa.operators import apply_alu
from nki_migrate.runtime.spec.operators import ALU, BITWISE, one_spelling

NUMBERS = st.lists(st.sampled_from([-2.5, -1.0, -0.0, 0.0, 0.5, 1.0, 3.0, float("inf")]), min_size=4, max_size=4)
ARITHMETIC = sorted(ALU - BITWISE - {"rsqrt", "abs", "invert"})


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("operator", ARITHMETIC)
@given(left=NUMBERS, right=NUMBERS)
def test_the_one_spelling_computes_the_same(operator, left, right):
    x, y = np.array(left, np.float32), np.array(right, np.float32)
    spelled, is_swapped = one_spelling(operator, True)
    same = apply_alu(spelled, y, x) if is_swapped else apply_alu(spelled, x, y)
    np.testing.assert_array_equal(apply_alu(operator, y, x), same)
    assert one_spelling(operator, False) == (operator, False)


@pytest.mark.parametrize(
    "expression",
    [
        "3 >= t",
        "0.5 < t",
        "nl.less(2, t)",
        "nl.logical_or(0.5, t)",
        "nl.logical_xor(1, t, dtype=nl.float32)",
        "nl.equal(0, t)",
        "nisa.tensor_scalar(t, nl.greater, 0.5, reverse0=True, op1=nl.multiply, operand1=2.0, reverse1=True)",
    ],
)
def test_a_number_on_the_left_is_the_same_instruction(migrate, expression):
    source = (
        "import neuronxcc.nki as nki\nimport neuronxcc.nki.isa as nisa\nimport neuronxcc.nki.language as nl\n\n\n"
        "@nki.jit\ndef k(x):\n    out = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.shared_hbm)\n"
        f"    t = nl.load(x)\n    nl.store(out, {expression})\n    return out\n"
    )
    migration = migrate(source, {"x": TensorSpec((8, 16), "float32", "integers", low=-3, high=3)}, Options(unsafe=True))
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())


SELECTED = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def k(x):
    out = nl.ndarray((2, 64, 16), dtype=nl.float32, buffer=nl.shared_hbm)
    i = nl.arange(64)[:, None]
    j = nl.arange(16)[None, :]
    for b in nl.affine_range(2):
        t = nl.load(x[0:64, 0:16])
        nl.store(out[b], nisa.affine_select(pred={predicate}, on_true_tile=t, on_false_value=-1.0))
    return out
"""


@pytest.mark.parametrize(
    "predicate", ["10 < j + b", "3 * b >= i - j", "j != i", "-2 * i <= 5 - j", "b > j", "0 == j - i"]
)
def test_a_predicate_from_either_side_is_one_instruction(migrate, predicate):
    x = TensorSpec((64, 16), "float32", "normal")
    migration = migrate(SELECTED.format(predicate=predicate), {"x": x}, Options(unsafe=True))
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
