"""A statement that reads what a left one binds, and needs a function that asks what that is, is left with it."""

from __future__ import annotations

import ast

import pytest
from first_rung import Options, rewrite
from nki_migrate.codemods.driver.backlog import backlog
from nki_migrate.codemods.model import AFTER
from nki_migrate.guard import complete, objection

KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def k(x, y):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
{body}
    nl.store(out, value=tile)
    return out
"""
LOST = "unknown = nl.rsqrt(nl.sum(tile, axis=1)[:, None])"


def _rewritten(*lines: str, options: Options | None = None):
    source = KERNEL.format(body="\n".join(f"    {line}" for line in lines))
    outcome = complete(source, rewrite(source, options or Options()), options or Options())
    assert objection(source, outcome, options or Options(), "old.py", rewrite) is None
    return outcome


@pytest.mark.parametrize(
    "lines",
    [
        (LOST, "made = nl.multiply(tile, unknown)"),
        (LOST, "made = nl.multiply(tile, unknown)", "more = nl.add(made, tile)", "last = nl.add(more, nl.load(y))"),
        (LOST, "for i in nl.affine_range(2):", "    made = nl.multiply(tile, unknown)"),
    ],
)
def test_no_function_is_added_for_what_cannot_run(lines):
    outcome = _rewritten(*lines)
    assert "promoted_dtype" not in outcome.source
    following = [finding for finding in outcome.findings if finding.message.endswith(AFTER)]
    assert following and all(finding.follows for finding in following)
    again = backlog(outcome.source, ast.parse(outcome.source), "0.2")
    assert {(f.code, f.message) for f in again} == {(f.code, f.message) for f in outcome.findings}


@pytest.mark.parametrize(
    "lines",
    [
        (LOST, "made = nl.multiply(tile, nl.load(y))"),
        (LOST, "unknown = nl.load(y)", "made = nl.multiply(tile, unknown)"),
        ("unknown = nl.load(y)", "if x.shape[0] > 3:", f"    {LOST}", "made = nl.multiply(tile, unknown)"),
        ("if x.shape[0] > 3:", f"    {LOST}", "else:", "    unknown = nl.load(y)", "made = nl.multiply(tile, unknown)"),
    ],
)
def test_what_does_not_depend_on_it_or_may_run_is_rewritten(lines):
    outcome = _rewritten(*lines)
    assert "dst=made" in outcome.source
    assert not any(finding.message.endswith(AFTER) for finding in outcome.findings)
