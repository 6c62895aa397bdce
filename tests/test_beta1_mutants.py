"""Goldens that were changed by machine (``beta1_mutants.py``): whatever becomes of them, nothing is silently wrong."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from beta1_mutants import CHANGES, mutant, tried
from examples import examples
from nki_migrate.runtime.pool import pool

MUTANTS = examples(24)


@pytest.mark.random
@pytest.mark.parametrize("unsafe", [False, True])
def test_no_mutant_is_rewritten_wrongly_without_a_word(unsafe: bool) -> None:
    choose = random.Random(11 + unsafe)
    with pool(1) as workers:
        trials = [tried(mutant(choose), workers, unsafe) for _ in range(MUTANTS)]
        while "finding" not in {trial.result for trial in trials} and len(trials) < 5 * MUTANTS:
            trials.append(tried(mutant(choose), workers, unsafe))  # the goldens have few that a change makes refused
    assert [trial for trial in trials if trial.result in ("wrong", "crash")] == []
    results = Counter(trial.result for trial in trials)
    assert results["equal"] > MUTANTS // 4 and results["finding"] > 0, results
    assert len({kind for trial in trials for kind in trial.mutant.kinds}) > len(CHANGES) // 2
