"""Each golden of the ladder: the rewrite gives exactly the after, once; the after is legal at its version, and before
and after, each at its own version, agree at all three levels; and every golden from Beta 1 climbs to each version
(that it agrees with what the newest one runs is a test of all goldens).
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from dataclasses import replace

import pytest
from nki_migrate.codemods import Options, Outcome, rewrite
from nki_migrate.codemods.ladder.registry import RULES as LADDER
from nki_migrate.golden import FIRST, LADDER_GOLDENS, NKI_GOLDENS, Golden
from nki_migrate.runtime.cases import Case, read_cases
from nki_migrate.runtime.compare import LEVELS
from nki_migrate.runtime.legality import check_source
from nki_migrate.runtime.messages import Request
from nki_migrate.runtime.pool import Pool, pool
from nki_migrate.runtime.spec.hardware import DEFAULT_TARGET
from nki_migrate.runtime.spec.versions import NAMES
from nki_migrate.verify import judged

NAMED = sorted(LADDER_GOLDENS)
MIXED_PLACEMENT = {"alloc_condition"}
"""Tensors with and without addresses, which no later version takes: where the others may lie, a person must say."""
DEPRECATED = {"NKV040", "NKV041"}
"""Loops on the device, which every version up to 0.6 takes: functions in their place are for review."""


@pytest.fixture(scope="module")
def workers() -> Iterator[Pool]:
    with pool(2) as started:
        yield started


@functools.cache
def outcome(name: str) -> Outcome:
    golden = LADDER_GOLDENS[name]
    return rewrite(golden.before, Options(**golden.options), str(golden.before_path))


def trouble(
    workers: Pool, golden: Golden, case: Case, before: tuple[object, str], after: tuple[object, str]
) -> list[str]:
    """What keeps two files, each run at its version, from being equal in one case."""
    hardware = case.hardware or DEFAULT_TARGET
    asked = [("run", *before), ("run", *after), ("reference", *before)]
    requests = [Request(kind, str(path), replace(case, target=version), hardware) for kind, path, version in asked]
    replies = [workers.submit(request) for request in requests]
    result = judged(case, LEVELS, *(reply.result() for reply in replies))
    found = [f"{p.side}: {p.verdict.value}: {p.file}:{p.line}: {p.message}" for p in result.problems]
    for level in (*result.levels, *result.reference):
        if level.verdict.value != "equal":
            found += [f"{level.level}: {level.verdict.value}: {level.summary}"]
            found += [f"    {difference.message}" for difference in level.differences]
    return found


@pytest.mark.parametrize("name", NAMED)
def test_the_rewrite_gives_exactly_the_after(name: str) -> None:
    golden = LADDER_GOLDENS[name]
    assert outcome(name).source == golden.after
    assert outcome(name).findings == ()
    assert set(golden.rules) <= set(outcome(name).applied)


@pytest.mark.parametrize("name", NAMED)
def test_a_second_rewrite_changes_nothing(name: str) -> None:
    golden = LADDER_GOLDENS[name]
    again = rewrite(golden.after, Options(**golden.options), str(golden.after_path))
    assert (again.source, again.findings) == (golden.after, ())


@pytest.mark.parametrize("name", NAMED)
def test_the_after_is_legal_at_its_version_and_the_before_at_its_own(name: str) -> None:
    golden = LADDER_GOLDENS[name]
    assert list(check_source(golden.after, name, target=golden.target)) == []
    assert list(check_source(golden.before, name, target=golden.version)) == []


@pytest.mark.parametrize("name", NAMED)
def test_before_and_after_agree_at_all_levels(name: str, workers: Pool) -> None:
    golden = LADDER_GOLDENS[name]
    cases = read_cases(golden.cases_path).cases
    assert len(cases) > 1
    for case in cases:
        sides = (golden.before_path, golden.version), (golden.after_path, golden.target)
        assert trouble(workers, golden, case, *sides) == [], case.name


@pytest.mark.parametrize("code", sorted(LADDER))
def test_rules_name_goldens_that_show_them(code: str) -> None:
    for name in LADDER[code].goldens:
        assert code in LADDER_GOLDENS[name].rules


# --- what came from Beta 1 climbs ------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", NAMES[1:])
@pytest.mark.parametrize("name", sorted(NKI_GOLDENS))
def test_goldens_from_beta1_climb_to_legal_files_and_stay(name: str, target: str) -> None:
    golden = NKI_GOLDENS[name]
    climbed = rewrite(golden.first_after, Options(target=target, source=FIRST), name)
    new = {finding.code for finding in climbed.findings if finding.code.startswith("NKV")}
    assert new - DEPRECATED == ({"NKV025"} if name in MIXED_PLACEMENT else set())
    assert list(check_source(climbed.source, name, target=target)) == []
    again = rewrite(climbed.source, Options(target=target), name)
    assert again.source == climbed.source


def functions(text: str) -> dict[str, str]:
    return {node.name: ast.dump(node) for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}


CLIMBED = [name for name, golden in NKI_GOLDENS.items() if golden.first_after_path != golden.after_path]


@pytest.mark.parametrize("name", sorted(set(CLIMBED) - set(LADDER_GOLDENS)))
def test_host_code_of_beta_1_keeps_no_kernel_beside_it_from_the_target(name: str) -> None:
    """Files with a harness that stays (NKI007) had been written for 0.2, whatever the target, without a word."""
    golden = NKI_GOLDENS[name]
    if golden.expected_failure or "import neuronxcc.nki as nki\n" not in golden.before:
        pytest.skip("it binds another name to NKI, or is not rewritten yet")
    kernel = read_cases(golden.cases_path).cases[0].kernel
    host = f"\n\nmeasured = nki.benchmark(warmup=1)({kernel})\n"
    found = rewrite(golden.before + host, Options(**{**golden.options, "target": golden.target}))
    if any(finding.code != "NKI007" for finding in found.findings):
        pytest.skip("the measured launch is one that the golden does not have")
    assert functions(found.source) == functions(golden.after)
