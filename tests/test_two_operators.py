"""``x * 2.0 - 1.0`` in float32 is one ``tensor_scalar`` with two operators: the same bits, which ``verify`` knows."""

from __future__ import annotations

from itertools import product

import pytest
from first_rung import rewrite
from nki_migrate.runtime.cases import Case, TensorSpec
from nki_migrate.runtime.compare import LEVELS
from nki_migrate.runtime.spec.operators import FUSED
from nki_migrate.verify import judged

HEAD = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def k(a, b):
    out = nl.ndarray((128, 64), dtype=a.dtype, buffer=nl.shared_hbm)
    x = nl.load(a[0:128, 0:64], dtype=nl.float32)
    y = nl.load(b[0:128, 0:64], dtype=nl.bfloat16)
    rows, columns = nl.mgrid[0:128, 0:64]
"""
ARGS = {"a": TensorSpec((128, 64), "float32"), "b": TensorSpec((128, 64), "bfloat16")}
ALL = product(sorted(FUSED), repeat=2)


@pytest.fixture
def compared(ask):
    """``compared(before, after)``: why the instructions of two files differ; nothing where they are the same."""

    def trouble(before, after):
        replies = [ask(text, "k", args=ARGS, target="0.2", name=f"k_{n}.py") for n, text in enumerate((before, after))]
        result = judged(Case("k", "case", "", args=ARGS, target="0.2"), LEVELS, *replies, None)
        assert not result.problems
        return [d.message for level in result.levels if level.level == "operands" for d in level.differences]

    return trouble


def kernel(value: str) -> str:
    return f"{HEAD}    nl.store(out[rows, columns], {value})\n    return out\n"


@pytest.mark.parametrize(
    "value",
    [f"nl.{second}(0.3, nl.{first}(x, 1.7))" for first, second in ALL]
    + ["x * 2.0 - 1.0", "1.0 - 2.0 * x", "(x + 3) * 0.1", "y * 2.0 + 1", "nl.add(x - 1.0, 2.0, dtype=nl.bfloat16)"],
)
def test_one_instruction_has_both_operators_and_gives_the_same_bits(migrate, value):
    migration = migrate(kernel(value), ARGS)
    assert (migration.outcome.findings, migration.objection, migration.trouble) == ((), None, ())
    assert migration.outcome.source.count("nisa.tensor_scalar(") == 1 and "op1=" in migration.outcome.source


@pytest.mark.parametrize(
    "value",
    [
        "nl.multiply(y, 2, dtype=nl.bfloat16) - 1.0",
        "nl.multiply(x, 2.0, mask=rows < 5) - 1.0",
        "nl.multiply(x, 2.0) - y",
        "nl.power(x, 2.0) - 1.0",
        "(x > 2.0) * 3.0",
        "nl.exp(x) * 2.0",
        "(x * 2.0 - 1.0) * 3.0",
    ],
    ids=["a narrow tile", "a mask", "a tile", "a power", "a comparison", "an activation", "three operators"],
)
def test_others_stay_instructions_of_their_own(migrate, value):
    migration = migrate(kernel(value), ARGS)
    if not migration.outcome.findings:
        assert (migration.objection, migration.trouble) == (None, ())
    named = HEAD + f"    t = {value}\n    nl.store(out[rows, columns], t)\n    return out\n"
    assert rewrite(named).source.count("op1=") == value.count("(x * 2.0 - 1.0)")


@pytest.mark.parametrize(
    ("right", "wrong"),
    [("operand1=1.0", "operand1=2.0"), ("op1=nl.subtract", "op1=nl.add"), ("operand0=2.0", "operand0=1.0")],
)
def test_another_number_or_operator_is_told_apart(compared, right, wrong):
    before = kernel("x * 2.0 - 1.0")
    after = rewrite(before).source
    assert right in after
    assert compared(before, after.replace(right, wrong))
    assert not compared(before, after)


def test_a_tile_that_something_else_reads_is_no_step_in_between(compared):
    before = kernel("STORED").replace(
        "    nl.store", "    t = nl.multiply(x, 2.0)\n    u = nl.subtract(t, 1.0)\n    nl.store"
    )
    after = rewrite(kernel("x * 2.0 - 1.0")).source
    assert not compared(before.replace("STORED", "u"), after)
    assert compared(before.replace("STORED", "nl.add(u, t)"), after)
