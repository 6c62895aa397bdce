"""``[tool.nki-migrate]`` and ``nki-migrate.toml``: what they say is what commands do without options."""

import shutil

import pytest
from nki_migrate.cli import main
from nki_migrate.configuration import KEYS, configuration
from nki_migrate.golden import GOLDENS

SOURCE = GOLDENS["forced_auto_alloc"].before


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NKI_MIGRATE_CACHE_DIR", str(tmp_path / "cache"))
    for folder in ("kernels", "old"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "k.py").write_text(SOURCE)
    return tmp_path


@pytest.fixture
def run(capsys):
    def call(*arguments):
        with pytest.raises(SystemExit) as exit_:
            main(list(arguments))
        out, err = capsys.readouterr()
        return exit_.value.code, out, err

    return call


def say(here, text, name="pyproject.toml"):
    (here / name).write_text(text)


def test_a_project_says_what_commands_do(run, here):
    say(here, '[tool.nki-migrate]\nexclude = ["old/"]\nselect = ["NKI001"]\n')
    code, out, _err = run("rewrite", "--stat", ".")
    assert code == 1 and out == "kernels/k.py | +7 -2\n", "it stops at all that this rule leaves"
    _code, out, _err = run("rewrite", "--stat", "--select", "NKI", "--target", "0.2", ".")
    assert out.startswith("kernels/k.py | ") and "+7 -2" not in out, "an option replaces it"
    _code, out, _err = run("rewrite", "--stat", "old/k.py")
    assert out == "old/k.py | +7 -2\n", "who names a file wants it"


def test_findings_are_ignored_by_file(run, here):
    say(here, '[tool.nki-migrate.per-file-ignores]\n"kernels/*" = ["NKI001", "nki002"]\n')
    _code, _out, err = run("rewrite", "--check", "--target", "0.2", ".")
    assert "kernels/k.py:" in err and "kernels/k.py:4" not in err and "old/k.py:4:1: NKI001" in err
    assert "2 findings (2 manual); 2 ignored" in err
    say(here, '[tool.nki-migrate.per-file-ignores]\n"*.py" = ["NKL"]\n')
    assert run("check", "--target", "0.2", ".")[1] == ""


def test_verify_leaves_out_what_is_excluded_and_ignores_by_file(run, here):
    _code, out, _err = run("verify", "--migrate", "--no-execute", ".")
    assert "kernels/k.py" in out and "old/k.py" in out and "NKI002" in out
    say(here, '[tool.nki-migrate]\nexclude = ["old/"]\n[tool.nki-migrate.per-file-ignores]\n"*.py" = ["NKI002"]\n')
    _code, out, _err = run("verify", "--migrate", "--no-execute", ".")
    assert "kernels/k.py" in out and "old/k.py" not in out and "NKI002" not in out and "NKI001" in out
    _code, out, _err = run("verify", "--migrate", "--no-execute", "old/k.py")
    assert "old/k.py" in out, "who names a file wants it"
    shutil.copytree("kernels", "after/kernels")
    shutil.copytree("old", "after/old")
    _code, out, _err = run("verify", "--no-execute", ".", "after")
    assert "kernels/k.py -> after" in out and "old/k.py -> after" not in out


def test_verify_migrate_rewrites_by_the_rules_of_the_project(run, here):
    assert "NKI020" not in run("verify", "--migrate", "--no-execute", "kernels")[1]
    say(here, '[tool.nki-migrate]\nselect = ["NKI001"]\n')
    assert "NKI020" in run("verify", "--migrate", "--no-execute", "kernels")[1]  # left, as it is not selected
    say(here, '[tool.nki-migrate]\nignore = ["NKI999"]\n')
    code, _out, err = run("verify", "--migrate", "--no-execute", "kernels")
    assert code == 2 and "ignore: no rule has the code or name 'NKI999'" in err


def test_the_target_is_that_of_check_too(run, here):
    (here / "new.py").write_text("import nki\n\n\n@nki.jit\ndef k(x, *, n):\n    return x\n")
    say(here, 'target = "0.2"\n', "nki-migrate.toml")
    old = run("check", "new.py")[1]
    say(here, 'target = "0.3"\n', "nki-migrate.toml")
    assert old != run("check", "new.py")[1] == run("check", "--target", "0.3", "new.py")[1]


def test_verify_takes_the_cases_of_the_project_from_anywhere_in_it(run, here, monkeypatch):
    say(here, 'cases = "missing/cases.toml"\n', "nki-migrate.toml")
    monkeypatch.chdir(here / "old")
    code, _out, err = run("verify", "k.py", "../kernels/k.py")
    assert code == 2 and "../missing/cases.toml" in err
    code, _out, err = run("rewrite", "--check", "k.py")
    assert "missing" not in err, "a rewrite runs no code that nobody asked it to run"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ('selct = ["NKI001"]', "there is no key 'selct' in [tool.nki-migrate]: did you mean 'select'?"),
        (
            "per_file_ignores = {}",
            "there is no key 'per_file_ignores' in [tool.nki-migrate]: did you mean 'per-file-ignores'?",
        ),
        ('select = "NKI001"', "'select' must be a list of texts, not 'NKI001'"),
        ('target = "1.0"', "'target' must be a version, or a range of them: \"0.2..0.6\""),
        ("blocks = 3", "'blocks' must be one of \"auto\""),
        ("cases = []", "'cases' must be the path of a file, not []"),
        ("per-file-ignores = {a = 1}", "must be a table of lists of codes"),
        ('select = ["NKI999"]', "no rule has the code or name 'NKI999'"),
        ("select = [", "this is no TOML"),
    ],
)
def test_what_cannot_be_used_is_one_line(run, here, text, error):
    say(here, f"[tool.nki-migrate]\n{text}\n")
    code, out, err = run("rewrite", ".")
    assert (code, out) == (2, "") and error in err and err.count("\n") == 1


def test_config_shows_each_value_with_its_origin(run, here):
    say(here, '[tool.nki-migrate]\nblocks = "fold"\n')
    code, out, _err = run("config")
    assert code == 0 and 'blocks = "fold"  # pyproject.toml\n' in out
    assert 'allocation = "address"  # default\n' in out and "exclude is not set\n" in out
    assert len(out.splitlines()) == len(KEYS)


def test_the_nearest_file_counts_and_none_outside_of_the_repository(here):
    say(here, "[tool.other]\n")
    assert configuration("old").path == ""
    say(here, "[tool.nki-migrate]\n")
    assert configuration("old").path == str(here / "pyproject.toml")
    say(here, "", "nki-migrate.toml")
    assert configuration("old").path == str(here / "nki-migrate.toml")
    (here / "old" / ".git").mkdir()
    assert configuration("old").path == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('ignore = ["NKI999"]', "ignore: no rule has the code or name 'NKI999'; did you mean NKI029"),
        ('select = ["namespaces"]', "select: no rule has the code or name 'namespaces'; did you mean namespace or"),
        ('per-file-ignores = {"k.py" = ["NKI00X"]}', "per-file-ignores: no rule and no finding has the code 'NKI00X'"),
        ('per-file-ignores = {"k.py" = [""]}', "per-file-ignores: no rule and no finding has the code ''"),
    ],
)
def test_codes_that_no_rule_and_no_finding_has_are_errors_of_the_file(run, here, text, said):
    say(here, text, "nki-migrate.toml")
    for command in (("config",), ("rewrite", "."), ("check", "."), ("assess", ".")):
        code, out, err = run(*command)
        assert code == 2 and out == "" and err.startswith(f"nki-migrate: error: nki-migrate.toml: {said}"), err


def test_beginnings_of_codes_and_codes_of_findings_are_known(run, here):
    codes = '["NKL", "nki002", "NKM005"]'
    say(here, f'ignore = ["NKV", "namespace"]\nper-file-ignores = {{"k.py" = {codes}}}', "nki-migrate.toml")
    assert run("config")[0] == 0


def test_a_key_that_is_like_none_is_answered_by_all_keys(run, here):
    say(here, '[tool.nki-migrate]\ntarget = "0.3"', "nki-migrate.toml")
    assert f"there is no key 'tool' here: the keys are {', '.join(KEYS)}" in run("config")[2]
