"""Each golden of the ladder: the rewrite gives exactly the after, once; the after is legal at its version, and before
and after, each at its own version, agree at all three levels; and every golden from Beta 1 climbs to each version
(that it agrees with what the newest one runs is a test of all goldens).
"""

from __future__ import annotations

import ast
import functools
from dataclasses import replace

import pytest
from examples import sampled
from nki_migrate.codemods import Options, Outcome, rewrite
from nki_migrate.codemods.ladder.registry import RULES as LADDER
from nki_migrate.golden import FIRST, LADDER_GOLDENS, NKI_GOLDENS, Golden
from nki_migrate.runtime.cases import Case, read_cases
from nki_migrate.runtime.compare import LEVELS
from nki_migrate.runtime.legality import check_source
from nki_migrate.runtime.messages import Request
from nki_migrate.runtime.pool import Workers
from nki_migrate.runtime.spec.hardware import DEFAULT_TARGET
from nki_migrate.runtime.spec.versions import NAMES
from nki_migrate.verify import judged

NAMED = sorted(LADDER_GOLDENS)
LEFT = {
    # Tensors with and without addresses, which no later version takes: where the others may lie, a person must say.
    "alloc_condition": {"NKV025"},
    # Tensors that are an output here and private scratch there: shared ones are for review.
    "scratch_of_kernels": {"NKV014"},
}
DEPRECATED = {"NKV040", "NKV041"}
"""Loops on the device, which every version up to 0.6 takes: functions in their place are for review."""

NEVER_RAN = {"NKV028"}
"""``dtype`` of ``shared_constant``: 2.28 documents it, and 0.2 refuses it (tests/test_ladder_rules.py)."""


@functools.cache
def outcome(name: str) -> Outcome:
    golden = LADDER_GOLDENS[name]
    return rewrite(golden.before, Options(**golden.options), str(golden.before_path))


def codes(made: Outcome) -> list[str]:
    return sorted(finding.code for finding in made.findings)


def trouble(
    workers: Workers, golden: Golden, case: Case, before: tuple[object, str], after: tuple[object, str]
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
    assert codes(outcome(name)) == sorted(golden.left)
    assert set(golden.rules) <= set(outcome(name).applied)
    careful = rewrite(golden.before, Options(**{**golden.options, "unsafe": False}), str(golden.before_path))
    assert set(golden.noted) <= set(codes(careful))


@pytest.mark.parametrize("name", NAMED)
def test_a_second_rewrite_changes_nothing(name: str) -> None:
    golden = LADDER_GOLDENS[name]
    again = rewrite(golden.after, Options(**golden.options), str(golden.after_path))
    assert (again.source, codes(again)) == (golden.after, sorted(golden.left))


@pytest.mark.parametrize("name", NAMED)
def test_the_after_is_legal_at_its_version_and_the_before_at_its_own(name: str) -> None:
    golden = LADDER_GOLDENS[name]
    if not golden.left:
        assert list(check_source(golden.after, name, target=golden.target)) == []
    assert list(check_source(golden.before, name, target=golden.version)) == []


@pytest.mark.parametrize("name", [name for name in NAMED if not LADDER_GOLDENS[name].left])
def test_before_and_after_agree_at_all_levels(name: str, workers: Workers) -> None:
    """But for what the versions themselves read otherwise, where the golden says at which level."""
    golden = LADDER_GOLDENS[name]
    cases = read_cases(golden.cases_path).cases
    assert len(cases) > 1
    for case in cases:
        sides = (golden.before_path, golden.version), (golden.after_path, golden.target)
        found = trouble(workers, golden, case, *sides)
        assert [line for line in found if not line.startswith((" ", *golden.differs))] == [], case.name
        assert all(f"{level}: different" in str(found) for level in golden.differs), case.name


@pytest.mark.parametrize("code", sorted(LADDER))
def test_rules_name_goldens_that_show_them(code: str) -> None:
    assert LADDER[code].goldens or code in NEVER_RAN
    for name in LADDER[code].goldens:
        golden = LADDER_GOLDENS[name]
        assert code in (*golden.rules, *golden.left, *golden.noted)


# --- what came from Beta 1 climbs ------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", NAMES[1:])
@pytest.mark.parametrize("name", sampled("ladder_golden", sorted(NKI_GOLDENS)))
def test_goldens_from_beta1_climb_to_legal_files_and_stay(name: str, target: str) -> None:
    golden = NKI_GOLDENS[name]
    climbed = rewrite(golden.first_after, Options(target=target, source=FIRST), name)
    new = {finding.code for finding in climbed.findings if finding.code.startswith("NKV")}
    assert new - DEPRECATED == LEFT.get(name, set())
    assert list(check_source(climbed.source, name, target=target)) == []
    again = rewrite(climbed.source, Options(target=target), name)
    assert again.source == climbed.source


def functions(text: str) -> dict[str, str]:
    return {node.name: ast.dump(node) for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}


CLIMBED = [name for name, golden in NKI_GOLDENS.items() if golden.first_after_path != golden.after_path]


@pytest.mark.parametrize(
    "name",
    sampled("ladder_golden", sorted(set(CLIMBED) - set(LADDER_GOLDENS))),
)
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
