"""Arguments of Beta 1 calls that are missing, or that no document describes: a finding, and never a guess."""

from __future__ import annotations

import pytest
from first_rung import rewrite

KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def k(x):
    out = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.load(x[0:128, 0:512])
    {line}
    nl.store(out, value=tile[0:128, 0:1])
    return out
"""


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("y = nl.sum(tile)", "nl.sum without 'axis', which Beta 1 requires"),
        ("y = nl.add(tile)", "nl.add without 'y', which Beta 1 requires"),
        ("y = nisa.tensor_reduce(nl.add, tile)", "nisa.tensor_reduce without 'axis', which Beta 1 requires"),
        ("y = nl.sum(tile, axis=1, keep_dims=True)", "nl.sum with 'keep_dims', which no document describes"),
        ("y = nl.load(x[0:128, 0:4], cached=True)", "nl.load with 'cached', which no document describes"),
        ("y = nl.zeros((128, 4), dtype=nl.float32, fill=1)", "nl.zeros with 'fill', which no document describes"),
        ("nl.store(out, value=tile[0:128, 0:1], oob=0)", "nl.store with 'oob', which no document describes"),
    ],
)
def test_a_call_that_beta_1_does_not_describe_is_left_and_said(line, message):
    outcome = rewrite(KERNEL.format(line=line))
    assert line in outcome.source
    assert message in [finding.message for finding in outcome.findings]


def test_a_tile_without_dimensions_is_left_and_said():
    outcome = rewrite(KERNEL.format(line="y = nl.zeros((), dtype=nl.float32)"))
    assert [finding.message for finding in outcome.findings] == ["a tile without dimensions"]


@pytest.mark.parametrize("shape", ["()", "[]"])
def test_a_tensor_in_hbm_without_dimensions_is_left_and_said(shape):
    outcome = rewrite(KERNEL.format(line=f"y = nl.ndarray({shape}, dtype=nl.float32, buffer=nl.shared_hbm)"))
    assert [finding.message for finding in outcome.findings] == ["a tensor in HBM without dimensions"]


def test_a_default_that_changes_belongs_to_a_function_that_changed():
    helper = "\n\ndef table(size, dtype=np.float32):\n    return size * 2\n"
    source = KERNEL.format(line="y = nl.zeros((128, table(2)), dtype=nl.float32)") + helper
    outcome = rewrite("import numpy as np\n" + source)
    assert "dtype=nl.float32):\n    return size * 2" in outcome.source
    assert "table" in outcome.touched


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ("y = nisa.tensor_scalar(tile, op0=nl.add, operand0=np.float32(0.1))", "operand0=0.1)"),
        ("y = nisa.tensor_scalar(tile, op0=nl.add, operand0=np.dtype(np.float32).type(3))", "operand0=3)"),
        ("y = nl.add(tile, np.float32(0.1))", "operand0=0.1)"),
        ("y = nisa.memset((128, 1), np.dtype(np.uint16).type(0), dtype=nl.float32)", "value=0)"),
        ("s = np.float32(0.1)\n    y = nisa.tensor_scalar(tile, op0=nl.add, operand0=s)", "s = 0.1\n"),
    ],
)
def test_a_number_of_a_numpy_type_that_only_instructions_get_loses_the_type(line, after):
    outcome = rewrite("import numpy as np\n" + KERNEL.format(line=line))
    assert outcome.findings == () and after in outcome.source


@pytest.mark.parametrize(
    "line",
    [
        "y = nl.add(tile, np.float32(3))",
        "s = np.float32(0.1)\n    y = nisa.tensor_scalar(tile, op0=nl.add, operand0=s * 3)",
        "s = np.float32(0.1)\n    s = 2\n    y = nisa.tensor_scalar(tile, op0=nl.add, operand0=s)",
        "y = nisa.tensor_scalar(tile, op0=nl.add, operand0=np.uint8(300))",
        "y = nisa.tensor_scalar(tile, op0=nl.add, operand0=np.float16(0.1))",
        "y = nisa.tensor_scalar(tile, op0=nl.add, operand0=np.dtype(x.dtype).type(0.1))",
    ],
)
def test_a_number_of_a_numpy_type_that_is_computed_with_or_rounded_is_left_and_said(line):
    messages = [finding.message for finding in rewrite("import numpy as np\n" + KERNEL.format(line=line)).findings]
    assert any(message.startswith("a number ") for message in messages)
