"""A kernel that is rewritten without one of the rules gives what it gave, or stops: it never gives other numbers.

The rules of a file rely on each other: a declaration that became a list needs the subscripts that index it, and each of
them the imports of Beta 2.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from examples import examples
from kept_replies import KeptReplies
from nki_migrate.codemods import Options, rewrite
from nki_migrate.codemods.syntax import codes
from nki_migrate.golden import NKI_GOLDENS as GOLDENS
from nki_migrate.rewriting import rewrite_report
from nki_migrate.runtime.cases import read_cases
from nki_migrate.runtime.compare import Failure
from nki_migrate.runtime.messages import Request
from nki_migrate.runtime.spec.hardware import DEFAULT_TARGET
from nki_migrate.verify import judged

BEFORES = sorted(name for name, golden in GOLDENS.items() if not golden.is_beta2_only and not golden.version)
random.Random(0).shuffle(BEFORES)


def pairs(count: int) -> Iterator[tuple[str, str]]:
    """Goldens of Beta 1, each with a rule that it applies and can be without; the same goldens with others next."""
    for turn in range(count):
        name = BEFORES[turn % len(BEFORES)]
        golden = GOLDENS[name]
        applied = rewrite(golden.before, Options(**{**golden.options, "unsafe": True}), str(golden.before_path)).applied
        found = sorted(code for code in applied if code.startswith("NKI") and code != codes.NAMESPACE)
        random.Random(name).shuffle(found)
        if turn // len(BEFORES) < len(found):
            yield name, found[turn // len(BEFORES)]


def other_numbers(workers: KeptReplies, name: str, options: Options, folder: Path) -> Iterator[str]:
    """The cases in which a golden's kernel, rewritten with these options, runs to what it did not give before."""
    golden = GOLDENS[name]
    outcome = rewrite(golden.before, options, str(golden.before_path))
    after = folder / f"{name}.py"
    after.write_text(outcome.source, encoding="utf-8")
    for case in read_cases(golden.cases_path).cases:
        target = case.hardware or DEFAULT_TARGET
        case = replace(case, target=options.target, ulps=max(outcome.inexact.values(), default=0))
        requests = [Request("run", str(path), case, target) for path in (golden.before_path, after)]
        old, new = (reply.result() for reply in [workers.submit(request) for request in requests])
        if isinstance(new, Failure):
            assert outcome.findings, f"{case.name} stops, and no finding says why: {new.message}"
        elif any(level.verdict.value != "equal" for level in judged(case, ("numbers",), old, new, None).levels):
            yield case.name


@pytest.mark.random
def test_a_kernel_without_one_of_the_rules_gives_no_other_numbers(workers: KeptReplies, tmp_path: Path) -> None:
    for name, code in pairs(examples(16)):
        options = Options(**{**GOLDENS[name].options, "unsafe": True, "ignore": frozenset({code})})
        assert not [*other_numbers(workers, name, options, tmp_path)], (name, code)


@pytest.mark.random
@pytest.mark.parametrize("without", [{"ignore": frozenset({"NKI001"})}, {"select": frozenset({"NKI02", "NKI005"})}])
def test_a_file_whose_imports_stay_beta_1_stays_as_it_is(without: dict[str, frozenset[str]]) -> None:
    """Its instructions take any keyword without a word: ``nisa.tensor_copy(dst=t, src=u)`` writes nothing there."""
    for name in BEFORES[: examples(6)]:
        golden = GOLDENS[name]
        options = Options(**{**golden.options, "unsafe": True, **without})
        report = rewrite_report("before.py", golden.before.encode(), options)
        assert report.status == "unchanged" and report.findings, name


def test_a_rule_that_needs_the_namespace_says_so() -> None:
    report = rewrite_report("k.py", GOLDENS["load_store"].before.encode(), Options(ignore=frozenset({"NKI001"})))
    found, *_ = [finding for finding in report.findings if finding.code == codes.LOAD_STORE]
    assert "which a file imports by the rule NKI001" in found.message and "--select NKI001" in found.help
