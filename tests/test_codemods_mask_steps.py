"""Masks of index vectors in steps, ``2 * i + first < n``: bounds of the vector, rounded as whole steps are."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nki_migrate.codemods import Options, rewrite
from nki_migrate.runtime.cases import TensorSpec

KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def k(x, n, step, first):
    out = nl.ndarray((64, 32), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.zeros((64, 32), dtype=x.dtype)
    i_p = nl.arange(64)[:, None]
    i_f = nl.arange(32)[None, :]
    mask = {}
    tile[i_p, i_f] = nl.load(x[i_p, i_f], mask=mask)
    nl.store(out[i_p, i_f], value=tile[i_p, i_f])
    return out
"""
MASKS = {
    "less": "step * i_f + first < n",
    "at most": "i_f * step <= n",
    "less, turned": "n > first + i_p * step",
    "a number": "3 * i_f + 1 < n",
    "two sides": "(step * i_p < n) & (2 * i_f < n)",
    "as many as": "i_p * step < n * step",
}


@pytest.mark.parametrize("name", MASKS)
@settings(max_examples=12, deadline=None)
@given(n=st.integers(-3, 70), step=st.integers(1, 5), first=st.integers(-4, 9))
def test_a_mask_in_steps_leaves_the_same_elements(migrate, name, n, step, first):
    args = {"x": TensorSpec((64, 32), "float32"), "n": n, "step": step, "first": first}
    migration = migrate(KERNEL.format(MASKS[name]), args, Options(unsafe=True))
    assert migration.outcome.findings == () and migration.trouble == ()


def test_steps_that_are_not_positive_stop_the_kernel(migrate):
    args = {"x": TensorSpec((64, 32), "float32"), "n": 20, "step": -2, "first": 0}
    migration = migrate(KERNEL.format(MASKS["less"]), args)
    assert any("steps that are positive" in line for line in migration.trouble)


def test_steps_that_are_known_to_be_negative_are_no_bound():
    source = KERNEL.format("-2 * i_f < n")
    assert [finding.code for finding in rewrite(source).findings if finding.code == "NKI025"]
