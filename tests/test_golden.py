"""Each golden, four ways, at the newest version and at 0.2: the rewrite gives exactly the after, twice gives the same,
the after is legal at its version, and before and after agree at all three levels on every case. Besides: the before
matches its NumPy reference and its address table, and a migration that only looks right is told apart.

A golden with ``expected_failure`` must fail the first way, with a diagnostic, and turns into an error when it passes.
"""

import functools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from kept_outcomes import KeptOutcomes
from nki_migrate.codemods import RULES, Options, Outcome, rewrite
from nki_migrate.discover import Found
from nki_migrate.golden import FIRST, NEWEST, Golden, read
from nki_migrate.golden import NKI_GOLDENS as GOLDENS
from nki_migrate.observing import observed
from nki_migrate.runtime.cases import Case, read_cases
from nki_migrate.runtime.compare import LEVELS, Failure, Run, compare_with_reference
from nki_migrate.runtime.legality import check_source
from nki_migrate.runtime.messages import Kernels, Reference, Reply, Request
from nki_migrate.runtime.pool import Workers
from nki_migrate.runtime.spec import versions
from nki_migrate.runtime.spec.hardware import DEFAULT_TARGET
from nki_migrate.verdicts import CaseResult
from nki_migrate.verify import judged

MIGRATED = sorted(name for name, golden in GOLDENS.items() if not golden.is_beta2_only)
BETA2_ONLY = sorted(name for name, golden in GOLDENS.items() if golden.is_beta2_only)
WRONG = sorted(name for name, golden in GOLDENS.items() if golden.wrong_after)
AFTERS = sorted({(name, golden.target) for name, golden in GOLDENS.items()} | {(name, FIRST) for name in GOLDENS})
"""Each golden with the versions of its afters."""
REWRITTEN = [(name, target) for name, target in AFTERS if name in MIGRATED]
DEPRECATED = {"NKV040", "NKV041"}
"""Loops on the device, which every version up to 0.6 takes: functions in their place are for review."""


def after_path(name: str, target: str) -> Path:
    golden = GOLDENS[name]
    return golden.after_path if target == golden.target else golden.first_after_path


@functools.cache
def options(name: str, target: str) -> Options:
    golden = GOLDENS[name]
    shown = observed([Found(str(golden.before_path))], str(golden.cases_path), 1).complete if golden.observe else ()
    return Options(**{**golden.options, "target": target}, observed=shown)


@pytest.fixture
def outcome(rewritten: KeptOutcomes) -> Callable[..., Outcome]:
    def outcome_of(name: str, target: str = FIRST) -> Outcome:
        golden = GOLDENS[name]
        return rewritten(golden.before, options(name, target), str(golden.before_path))

    return outcome_of


@functools.cache
def cases(name: str) -> tuple[Case, ...]:
    return read_cases(GOLDENS[name].cases_path).cases


def asked(workers: Workers, kind: str, path: object, case: Case, version: str = "") -> Reply:
    case = replace(case, target=version)
    return workers.submit(Request(kind, str(path), case, case.hardware or DEFAULT_TARGET)).result()


def compared(workers: Workers, golden: Golden, after: object, case: Case, version: str) -> CaseResult:
    """The verdicts on ``before.py`` against the file ``after``, which runs as ``version``."""
    target = case.hardware or DEFAULT_TARGET
    case = replace(case, target=version)
    kinds = (("run", golden.before_path), ("run", after), ("reference", golden.before_path))
    replies = [workers.submit(Request(kind, str(path), case, target)) for kind, path in kinds]
    return judged(case, LEVELS, *(reply.result() for reply in replies))


def trouble(result: CaseResult) -> list[str]:
    """Everything that keeps a result from being equal, as text."""
    found = [f"{p.side}: {p.verdict.value}: {p.file}:{p.line}: {p.message}" for p in result.problems]
    for level in (*result.levels, *result.reference):
        if level.verdict.value != "equal":
            found += [f"{level.level}: {level.verdict.value}: {level.summary}"]
            found += [f"    {difference.message}" for difference in level.differences]
    return found


# --- the four ways ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "target"), REWRITTEN)
def test_rewrite_gives_exactly_the_after(name, target, outcome):
    golden, after = GOLDENS[name], after_path(name, target).read_bytes().decode()
    made = outcome(name, target)
    if golden.expected_failure:
        assert made.source != after, f"it passes now: delete expected_failure of {name}"
        assert made.findings, "what was left must be said"
    else:
        assert made.source == after
        new = {f.code for f in made.findings if f.code.startswith("NKV")}
        assert new <= DEPRECATED, "the ladder leaves nothing of what the rules from Beta 1 wrote"


@pytest.mark.parametrize(("name", "target"), REWRITTEN)
def test_rewriting_twice_is_rewriting_once(name, target, outcome):
    golden, once = GOLDENS[name], outcome(name, target).source
    assert rewrite(once, options(name, target), str(golden.before_path)).source == once


@pytest.mark.parametrize(("name", "target"), AFTERS)
def test_rewriting_the_after_changes_nothing(name, target, outcome):
    golden, path = GOLDENS[name], after_path(name, target)
    text = path.read_bytes().decode()
    again = rewrite(text, Options(**{**golden.options, "target": target}), str(path))
    assert again.source == text
    left = set() if name in BETA2_ONLY else {(f.code, f.message) for f in outcome(name, target).findings}
    assert {(f.code, f.message) for f in again.findings if f.code not in DEPRECATED} <= left


@pytest.mark.parametrize(("name", "target"), AFTERS)
def test_the_after_is_legal_at_its_version(name, target):
    path = after_path(name, target)
    assert list(check_source(path.read_bytes().decode(), str(path), target=target)) == []


@pytest.mark.parametrize(("name", "target"), REWRITTEN)
def test_before_and_after_agree_at_all_levels(name, target, workers):
    golden = GOLDENS[name]
    for case in cases(name):
        result = compared(workers, golden, after_path(name, target), case, target)
        assert trouble(result) == [], case.name
        assert [level.level for level in result.levels] == list(LEVELS)
        assert len(result.reference) == 2


# --- what the kernels do ---------------------------------------------------------------------------------------------


def check_run(workers: Workers, golden: Golden, path: object, case: Case, version: str = "") -> None:
    """The kernel in ``path`` runs, matches its reference, lies where the address table says, prints what it should."""
    run = asked(workers, "run", path, case, version)
    assert isinstance(run, Run), run
    expected = asked(workers, "reference", path, case)
    assert isinstance(expected, Reference), expected
    arrays = [packed.array() for packed in expected.outputs]
    assert [d.message for d in compare_with_reference(run, arrays, rtol=case.rtol, atol=case.atol)] == []
    rows = [tile.as_json() for program in run.programs for tile in program.tiles]
    for entry in golden.layout:
        if entry.case in ("", case.name):
            mine = [row["block"] for row in rows if row["tensor"] == entry.row["tensor"]]
            if path != golden.before_path and entry.row["block"] and mine and not any(mine):
                continue  # its blocks became one tensor, or a tensor of a loop: the layout level compares them
            found = [row for row in rows if (row["tensor"], row["block"]) == (entry.row["tensor"], entry.row["block"])]
            assert found, f"there is no tile {entry.row['tensor']} {entry.row['block']}"
            meant = found if entry.number is None else [found[entry.number]]
            assert [{key: row[key] for key in entry.row} for row in meant] == [dict(entry.row)] * len(meant)
    for printed in golden.printed:
        if printed.case == case.name:
            assert printed.text in run.printed


@pytest.mark.parametrize("name", MIGRATED)
def test_before_does_what_its_reference_says(name, workers):
    for case in cases(name):
        check_run(workers, GOLDENS[name], GOLDENS[name].before_path, case)


@pytest.mark.parametrize(("name", "target"), AFTERS)
def test_after_does_what_its_reference_says(name, target, workers):
    for case in cases(name):
        check_run(workers, GOLDENS[name], after_path(name, target), case, target)


@pytest.mark.parametrize("name", WRONG)
def test_wrong_after_is_told_apart(name, workers):
    golden = GOLDENS[name]
    wrong = golden.wrong_after
    shown = [case for case in cases(name) if wrong.case in ("", case.name)]
    assert shown
    for case in shown:
        result = compared(workers, golden, golden.wrong_after_path, case, golden.target)
        assert result.problems == (), "it must run: only the comparison tells it apart"
        unequal = [(level.level, level.verdict.value) for level in result.levels if level.verdict.value != "equal"]
        assert unequal[:1] == [(wrong.level, wrong.verdict)]


@pytest.mark.parametrize("name", WRONG)
def test_wrong_after_is_legal(name):
    golden = GOLDENS[name]
    path = golden.wrong_after_path
    assert list(check_source(path.read_text(encoding="utf-8"), str(path), target=golden.target)) == []


def test_the_versions_of_the_goldens_are_the_oldest_and_the_newest():
    assert (versions.OLDEST.name, versions.NEWEST.name) == (FIRST, NEWEST)


@pytest.mark.parametrize("name", sorted(GOLDENS))
def test_an_after_of_its_own_at_the_first_version_differs(name):
    golden = GOLDENS[name]
    assert (golden.first_after_path == golden.after_path) == (golden.first_after == golden.after)


# --- the collection --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(GOLDENS))
def test_golden_is_complete(name):
    golden = GOLDENS[name]
    file = read_cases(golden.cases_path)
    assert file.bad == ()
    assert len(file.cases) >= 2
    assert all(case.reference for case in file.cases), "every case has a NumPy reference"
    assert golden.title and golden.source and golden.notes.endswith(".")
    assert golden.wrong_after_path.exists() == (golden.wrong_after is not None)
    known = {case.name for case in file.cases} | {""}
    assert {entry.case for entry in (*golden.layout, *golden.printed)} <= known


@pytest.mark.parametrize("name", [*MIGRATED, *BETA2_ONLY])
def test_every_kernel_has_a_case(name, workers):
    golden = GOLDENS[name]
    path = golden.after_path if golden.is_beta2_only else golden.before_path
    reply = workers.submit(Request("kernels", str(path))).result()
    assert not isinstance(reply, Failure), reply
    assert isinstance(reply, Kernels)
    assert {k.name for k in reply.kernels if not k.sub_kernel} == {
        case.kernel for case in cases(name) if case.make is None
    }


@pytest.mark.parametrize("name", MIGRATED)
def test_rules_of_a_golden_were_applied(name, outcome):
    golden, made = GOLDENS[name], outcome(name)
    assert golden.rules, "say which rules it is an example of"
    left = {finding.code for finding in made.findings} if golden.expected_failure else set()
    assert [code for code in golden.rules if code not in made.applied.keys() | left] == []


@pytest.mark.parametrize("code", sorted(code for code in RULES if not code.startswith("NKV")))
def test_every_rule_has_goldens_that_show_it(code):
    assert RULES[code].goldens
    for name in RULES[code].goldens:
        assert code in GOLDENS[name].rules, f"{name} does not say that it is an example of {code}"


def test_names_are_read_once_and_in_order():
    assert list(GOLDENS) == sorted(GOLDENS)
    assert GOLDENS["fused_rmsnorm"] is GOLDENS["fused_rmsnorm"]
    assert len(GOLDENS) == len(set(GOLDENS))


def test_unknown_golden():
    with pytest.raises(KeyError, match="no_such_golden"):
        GOLDENS["no_such_golden"]


def test_a_key_that_no_golden_has_is_an_error(tmp_path):
    (tmp_path / "golden.toml").write_text('title = "t"\nsource = "s"\nnotes = "n"\nrule = ["NKI001"]\n')
    with pytest.raises(ValueError, match="unknown key 'rule'"):
        read(tmp_path)


def test_a_missing_key_is_an_error(tmp_path):
    (tmp_path / "golden.toml").write_text('title = "t"\nsource = "s"\n')
    with pytest.raises(KeyError, match="notes"):
        read(tmp_path)


def test_line_endings_of_a_golden_are_kept(tmp_path):
    (tmp_path / "golden.toml").write_text('title = "t"\nsource = "s"\nnotes = "n"\n')
    (tmp_path / "before.py").write_bytes(b"a = 1\r\nb = 2\n")
    golden = read(tmp_path)
    assert golden.before == "a = 1\r\nb = 2\n"
    assert not golden.is_beta2_only
    with pytest.raises(FileNotFoundError):
        golden.after  # noqa: B018
