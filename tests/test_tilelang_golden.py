"""Each golden of TileLang: the rewrite gives exactly the after, twice gives the same, the after is legal, and before
and after agree at all three levels, and with NumPy, in every case."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from nki_migrate.codemods.tilelang import RULES, check, rewrite_module
from nki_migrate.golden import GOLDENS, Golden
from nki_migrate.runtime.cases import Case, read_cases
from nki_migrate.runtime.compare import LEVELS
from nki_migrate.runtime.messages import Request
from nki_migrate.runtime.pool import Pool, pool
from nki_migrate.verify import judged

NAMES = sorted(name for name, golden in GOLDENS.items() if golden.language == "tilelang")


@pytest.fixture(scope="module")
def workers() -> Iterator[Pool]:
    with pool(2) as started:
        yield started


def trouble(workers: Pool, golden: Golden, case: Case) -> list[str]:
    kinds = (("run", golden.before_path), ("run", golden.after_path), ("reference", golden.before_path))
    asked = [
        workers.submit(Request(kind, str(path), case, case.hardware or "sm_80", language="tilelang"))
        for kind, path in kinds
    ]
    result = judged(case, LEVELS, *(each.result() for each in asked))
    found = [f"{each.side}: {each.verdict.value}: {each.file}:{each.line}: {each.message}" for each in result.problems]
    for level in (*result.levels, *result.reference):
        if level.verdict.value != "equal":
            found += [f"{level.level}: {level.summary}", *(each.message for each in level.differences)]
    return found if result.levels else [*found, "nothing was compared"]


@pytest.mark.parametrize("name", NAMES)
def test_the_rewrite_gives_the_after_and_nothing_more(name: str) -> None:
    golden = GOLDENS[name]
    outcome = rewrite_module(golden.before)
    assert outcome.source == golden.after
    assert set(golden.rules) <= set(outcome.applied)
    again = rewrite_module(golden.after)
    assert (again.source, again.findings) == (golden.after, ())


@pytest.mark.parametrize("name", NAMES)
def test_the_after_is_legal(name: str) -> None:
    assert check(GOLDENS[name].after, name, "") == []


@pytest.mark.parametrize("name", NAMES)
def test_before_and_after_agree_with_each_other_and_with_numpy(name: str, workers: Pool) -> None:
    golden = GOLDENS[name]
    cases = read_cases(golden.cases_path).cases
    assert cases
    for case in cases:
        assert trouble(workers, golden, case) == [], case.name


def test_every_rule_that_writes_has_a_golden() -> None:
    shown = {code for name in NAMES for code in GOLDENS[name].rules}
    assert shown == {code for code, rule in RULES.items() if rule.applicability != "manual"}
