"""What a function asserts of ``len(x.shape)`` tells the ladder the rank of ``x``, and of what is loaded from it."""

from __future__ import annotations

import pytest
from nki_migrate.codemods import Options, rewrite
from nki_migrate.runtime.cases import TensorSpec

BETA1 = """\
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import numpy as np


@nki.jit
def k(x):
    out = nl.ndarray((64, {columns}), dtype=nl.float32, buffer=nl.shared_hbm)
    t = nl.load({part})
    nl.store(out, value={value})
    return out
"""
LATER = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def k(x, n):
    out = nl.ndarray((64, 1), dtype=nl.float32, buffer=nl.sbuf)
{body}
    return out
"""
REDUCED = "nisa.tensor_reduce(dst=out, op=nl.add, data=t, axis=[3, 4])"


@pytest.mark.parametrize("target", ["0.2", "0.3", "0.6"])
@pytest.mark.parametrize("function", ["np.max", "np.add"])
def test_axes_of_a_loaded_part_are_counted_as_the_version_does(migrate, target, function):
    value = f"nisa.tensor_reduce({function}, t, axis=[1, 2])"
    source = BETA1.format(columns=1, part="x[0:64, 0:3, 0:5]", value=value)
    result = migrate(source, {"x": TensorSpec((64, 3, 5), "float32", "normal")}, Options(target=target))
    assert (result.outcome.findings, result.objection, result.trouble) == ((), None, ())
    assert ("axis=[3, 4]" in result.outcome.source) == (target == "0.2")
    assert ("assert len(x.shape) == 3" in result.outcome.source) == (target != "0.2")


def test_axes_of_what_is_computed_of_a_loaded_part_are_counted_too(migrate):
    value = "nisa.tensor_reduce(np.max, nl.exp(t), axis=[2, 3])"
    source = BETA1.format(columns=3, part="x[0:64, 0:3, 0:5, 0:2]", value=value)
    result = migrate(source, {"x": TensorSpec((64, 3, 5, 2), "float32", "normal")}, Options(target="0.6"))
    assert (result.outcome.findings, result.objection, result.trouble) == ((), None, ())
    assert "axis=[2, 3]" in result.outcome.source


def test_one_axis_asks_for_no_assertion(migrate):
    source = BETA1.format(columns=1, part="x[0:64, 0:5]", value="nisa.tensor_reduce(np.max, t, axis=[1])")
    result = migrate(source, {"x": TensorSpec((64, 5), "float32", "normal")}, Options(target="0.6"))
    assert (result.outcome.findings, result.objection, result.trouble) == ((), None, ())
    assert "assert" not in result.outcome.source


def later(*lines: str) -> str:
    source = LATER.format(body="\n".join(f"    {line}" for line in lines))
    return rewrite(source, Options(target="0.3", source="0.2", unsafe=True, select=frozenset({"NKV007"}))).source


TOLD = {
    "in the same block": ("assert len(x.shape) == 3", "t = nl.load(x[0:64, 0:3, 0:5])", REDUCED),
    "with a reason": ('assert len(x.shape) == 3, "three"', "t = nl.load(x[0:64, 0:3, 0:5])", REDUCED),
    "with another condition": ("assert n and len(x.shape) == 3", "t = nl.load(x[0:64, 0:3, 0:5])", REDUCED),
    "around the use": (
        "assert len(x.shape) == 3",
        "for i in range(n):",
        "    t = nl.load(x[0:64, 0:3, 0:5])",
        f"    {REDUCED}",
    ),
    "in a branch": ("if n:", "    assert len(x.shape) == 3", "    t = nl.load(x[0:64, :, :])", f"    {REDUCED}"),
}
OPEN = {
    "in another branch": ("if n:", "    assert len(x.shape) == 3", "t = nl.load(x[0:64, :, :])", REDUCED),
    "in the other branch": (
        "if n:",
        "    assert len(x.shape) == 3",
        "else:",
        "    t = nl.load(x[0:64, :, :])",
        f"    {REDUCED}",
    ),
    "afterwards": ("t = nl.load(x[0:64, :, :])", REDUCED, "assert len(x.shape) == 3"),
    "of one of two": ("assert n or len(x.shape) == 3", "t = nl.load(x[0:64, :, :])", REDUCED),
    "of at least": ("assert len(x.shape) >= 3", "t = nl.load(x[0:64, :, :])", REDUCED),
    "of another tensor": ("assert len(n.shape) == 3", "t = nl.load(x[0:64, :, :])", REDUCED),
    "of a name that is bound again": ("assert len(x.shape) == 3", "x = n", "t = nl.load(x[0:64, :, :])", REDUCED),
}


@pytest.mark.parametrize("lines", TOLD.values(), ids=TOLD)
def test_an_assertion_that_runs_before_tells_the_rank(lines):
    assert "axis=[1, 2]" in later(*lines)


@pytest.mark.parametrize("lines", OPEN.values(), ids=OPEN)
def test_an_assertion_that_may_not_hold_there_tells_nothing(lines):
    assert "axis=[3, 4]" in later(*lines)
