"""The goldens of TileLang-Ascend: rewritten exactly, once; verified by the tool; and kept by its guards."""

import shutil

import pytest
from nki_migrate.cli import main
from nki_migrate.codemods.ascend import RULES, check, rewrite_module
from nki_migrate.codemods.ascend.dialect import objections
from nki_migrate.codemods.model import Options
from nki_migrate.golden import GOLDENS
from nki_migrate.verify import proved

NAMES = sorted(name for name in GOLDENS if name.startswith("ascend_"))
RUN = [name for name in NAMES if name != "ascend_mainline"]  # the emulator has the fork's dialect only


@pytest.mark.parametrize("name", NAMES)
def test_the_rewrite_gives_exactly_the_after(name):
    golden = GOLDENS[name]
    options = Options(**golden.options)
    outcome = rewrite_module(golden.before, options)
    assert outcome.source == golden.after and outcome.findings == ()
    assert set(golden.rules) <= set(outcome.applied)
    assert list(objections(golden.before, outcome, options)) == []
    again = rewrite_module(golden.after, options)
    assert again.source == golden.after and again.findings == ()


@pytest.mark.parametrize("name", RUN)
def test_before_and_after_agree_at_all_levels(name):
    golden = GOLDENS[name]
    proof = proved(golden.before_path, golden.after_path, golden.cases_path, jobs=1)
    assert proof.exit_code == 0
    assert all(level.verdict.value == "equal" for result in proof.results for level in result.levels)
    assert all(len(result.reference) == 2 for result in proof.results)


@pytest.mark.parametrize("name", RUN)
def test_the_after_has_no_call_of_the_seed(name):
    found = check(GOLDENS[name].after, "after.py", "")
    assert [finding for finding in found if finding.code not in ("ASC106",)] == []


def test_each_rule_that_rewrites_has_a_golden_that_exists():
    shown = {code for name in NAMES for code in GOLDENS[name].rules}
    assert shown == {code for code, rule in RULES.items() if rule.goldens}
    assert all(name in NAMES for rule in RULES.values() for name in rule.goldens)


def test_rewrite_write_and_verify_from_the_command_line(tmp_path, capsys):
    for part in ("before.py", "cases.toml", "reference.py"):
        shutil.copy(GOLDENS["ascend_pool"].folder / part, tmp_path / part)
    file = tmp_path / "before.py"
    with pytest.raises(SystemExit) as ended:
        main(["verify", "--migrate", "--no-cache", "--jobs", "1", str(file)])
    assert ended.value.code == 0 and "1 equal, 0 different" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["rewrite", "--write", "--to", "ascend==pinned", "--jobs", "1", str(file)])
    assert file.read_text() == GOLDENS["ascend_pool"].after


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            ("rewrite", "--planner", "base"),
            "--planner belongs to kernels of TileLang-Ascend, and none of the files has",
        ),
        (("check", "--hardware", "950"), "--hardware belongs to kernels of TileLang-Ascend"),
        (("rewrite", "--to", "ascend==newest"), "ascend has no version 'newest': it has fork, pinned"),
        (("layout", "--mode", "linear"), "--mode belongs to kernels of TileLang-Ascend"),
    ],
)
def test_options_of_this_language_are_refused_elsewhere(arguments, text, capsys):
    path = str(GOLDENS["running_counter"].before_path)
    with pytest.raises(SystemExit) as ended:
        main([*arguments, f"{path}::peaks" if arguments[0] == "layout" else path])
    assert ended.value.code == 2
    assert text in " ".join(capsys.readouterr().err.split())


def test_layout_of_a_golden_prints_map_figures_and_trace(capsys):
    path = GOLDENS["ascend_pinned"].after_path
    for form in ("text", "json", "svg"):
        with pytest.raises(SystemExit) as ended:
            main(["layout", f"{path}::scaled_product", "--target", "910b", "--output-format", form])
        printed = capsys.readouterr().out
        assert ended.value.code == 0 and "scale" in printed
        assert {"text": "2048-2075", "json": '"address": 2048', "svg": "<svg"}[form] in printed


def test_check_reports_what_does_not_fit(tmp_path, capsys):
    text = GOLDENS["ascend_pinned"].before.replace("T.alloc_ub((7,)", "T.alloc_ub((70000,)")
    (tmp_path / "kernel.py").write_text(text)
    for more in ((), ("--hardware", "950"), ("--mode", "reuse", "--planner", "base")):
        with pytest.raises(SystemExit) as ended:
            main(["check", *more, str(tmp_path / "kernel.py")])
        printed = capsys.readouterr().out
        assert ended.value.code == 1 and "ASC101" in printed and "'scale' (280000 bytes" in printed


@pytest.mark.parametrize(("golden", "hardware"), [("ascend_views", "gen2"), ("running_counter", "910b")])
def test_the_hardware_of_another_language_is_one_clear_error(golden, hardware, capsys):
    folder = GOLDENS[golden].folder
    with pytest.raises(SystemExit) as ended:
        files = [str(folder / "before.py"), str(folder / "after.py")]
        main(["verify", "--no-cache", "--jobs", "1", "--hardware", hardware, *files])
    printed = capsys.readouterr().out
    assert ended.value.code == 2 and f"not on '{hardware}'" in printed and "KeyError" not in printed
