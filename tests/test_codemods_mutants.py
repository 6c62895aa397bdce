"""Goldens that are changed a little: what is rewritten of them computes what they compute, or stops.

Goldens are written as their authors found it natural. A name for two things, an alias, a loop of one pass or a part in
a function of its own asks of the analysis what no golden asks.
"""

from __future__ import annotations

import random
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from examples import examples
from mutants import mutant
from nki_migrate.codemods import Options, rewrite
from nki_migrate.golden import NKI_GOLDENS as GOLDENS
from nki_migrate.runtime.cases import read_cases
from nki_migrate.runtime.compare import Failure
from nki_migrate.runtime.messages import Request
from nki_migrate.runtime.pool import Pool, pool
from nki_migrate.runtime.spec.hardware import DEFAULT_TARGET
from nki_migrate.verify import judged

NAMES = sorted(n for n, golden in GOLDENS.items() if not (golden.is_beta2_only or golden.version or golden.observe))


def numbers_of(workers: Pool, folder: Path, name: str, chosen: random.Random) -> tuple[str, str]:
    """What became of a golden that was changed a little: one word for it, and what was changed."""
    golden = GOLDENS[name]
    source, said = mutant(golden.before, chosen)
    case = chosen.choice(read_cases(golden.cases_path).cases)
    options = Options(**{**golden.options, "unsafe": True})
    shutil.copytree(golden.before_path.parent, folder, dirs_exist_ok=True)
    runs = []
    for side, target in (("before", ""), ("after", options.target)):
        if side == "after":
            outcome = rewrite(source, options, str(golden.before_path))
            source, case = outcome.source, replace(case, ulps=max(outcome.inexact.values(), default=0))
        path = folder / f"{side}.py"
        path.write_text(source, encoding="utf-8")
        request = Request("run", str(path), replace(case, target=target), case.hardware or DEFAULT_TARGET)
        runs.append(workers.submit(request).result())
        if isinstance(runs[-1], Failure):
            return ("no kernel" if side == "before" else "stopped"), f"{name}: {said}"
    levels = judged(replace(case, target=options.target), ("numbers",), *runs, None).levels
    equal = all(level.verdict.value == "equal" for level in levels)
    return ("equal" if equal else "different"), f"{name}: {said} {case.name}"


@pytest.mark.random
def test_a_golden_that_is_changed_a_little_gives_no_other_numbers(tmp_path: Path) -> None:
    chosen, became = random.Random(0), []
    with pool(1) as workers:
        for number in range(examples(40)):
            became.append(numbers_of(workers, tmp_path / str(number), chosen.choice(NAMES), chosen))
    assert not [said for word, said in became if word == "different"]
    assert sum(word == "equal" for word, _ in became) > len(became) / 3
