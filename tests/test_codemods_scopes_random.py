"""Random kernels of scopes get the same numbers, or have a finding; ``tests/bench/scopes.py`` runs more of them."""

from __future__ import annotations

import random

import pytest
from first_rung import rewrite
from nki_migrate.runtime.pool import pool
from scope_kernels import kernel, tried


@pytest.fixture(scope="module")
def workers():
    with pool(1) as started:
        yield started


@pytest.mark.parametrize("seed", range(20))
def test_a_kernel_of_scopes_is_never_wrong(workers, tmp_path, seed: int) -> None:
    source = kernel(random.Random(seed))
    result, text = tried(source, workers, str(tmp_path))
    assert result in ("equal", "finding", "illegal"), f"{result}\n{source}\n{text}"


def test_many_of_the_kernels_are_rewritten_and_some_are_left() -> None:
    """So that the property above does not hold because nothing is rewritten, or because nothing is told apart."""
    codes = [{finding.code for finding in rewrite(kernel(random.Random(seed))).findings} for seed in range(40)]
    assert sum(not found for found in codes) >= 15
    assert any("NKI035" in found for found in codes)
