"""What ``rewrite`` and ``check`` print, and how little of it, by their options."""

import subprocess

import pytest
from nki_migrate import patch
from nki_migrate.cli import cli, main
from nki_migrate.golden import GOLDENS

SOURCE = GOLDENS["forced_auto_alloc"].before


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NKI_MIGRATE_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "k.py").write_text(SOURCE)
    return tmp_path


@pytest.fixture
def run(capfdbinary, monkeypatch):
    def call(*arguments, stdin=None):
        if stdin is not None:
            monkeypatch.setattr("nki_migrate.reports.sys.stdin", open(stdin))  # noqa: SIM115
        with pytest.raises(SystemExit) as exit_:
            main(list(arguments))
        out, err = capfdbinary.readouterr()
        return exit_.value.code, out, err.decode()

    return call


def test_the_diff_of_standard_input_applies_to_the_file_that_it_is_named_after(run, here):
    subprocess.run(["git", "init", "-q", "."], check=True)
    _code, diff, err = run("rewrite", "-", "--stdin-filename", "kernels/k.py", stdin="kernels/k.py")
    assert "kernels/k.py:8:2: NKI002" in err
    subprocess.run(["git", "apply", "-"], input=diff, check=True)
    (here / "other.py").write_text(SOURCE)
    run("rewrite", "--write", "--allow-dirty", "other.py")
    assert (here / "kernels" / "k.py").read_text() == (here / "other.py").read_text() != SOURCE


def test_stat_counts_the_lines_of_the_diff(run):
    _code, diff, _err = run("rewrite", ".")
    lines = diff.split(b"\n")[2:]
    added, removed = (sum(line.startswith(sign) for line in lines) for sign in (b"+", b"-"))
    _code, out, _err = run("rewrite", "--stat", ".")
    assert out.decode() == f"kernels/k.py | +{added} -{removed}\n"


def test_context_of_the_diff(run):
    out = [run("rewrite", f"-U{number}", ".")[1] for number in (0, 3, 1)]
    assert run("rewrite", ".")[1] == out[1]
    context = [sum(line.startswith(b" ") for line in text.split(b"\n")) for text in out]
    assert context[0] == 0 < context[2] < context[1]


def test_quiet_prints_the_diff_and_what_failed(run, here):
    code, out, err = run("rewrite", "-q", ".")
    assert (code, err) == (1, "") and out.startswith(b"--- a/kernels/k.py")
    (here / "broken.py").write_text("import neuronxcc.nki\ndef (:\n")
    code, out, err = run("rewrite", "--quiet", "--write", ".")
    assert (code, out) == (2, b"") and err.startswith("broken.py: failed: line 2") and err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--write", "--dry-run", "."], "--write and --dry-run exclude each other"),
        (["--stdin-filename", "k.py", "."], "--stdin-filename names what - reads"),
        (["-U", "-1", "."], "Invalid value"),
    ],
)
def test_options_that_contradict_each_other_are_one_line(run, arguments, error):
    code, out, err = run("rewrite", *arguments)
    assert (code, out) == (2, b"") and error in err and err.count("\n") == 1


@pytest.mark.parametrize(("force", "no", "expected"), [("1", "", True), ("1", "1", False), ("", "", False)])
def test_colours_can_be_forced_and_refused(run, monkeypatch, force, no, expected):
    monkeypatch.setenv("FORCE_COLOR", force)
    monkeypatch.setenv("NO_COLOR", no)
    assert (b"\x1b[" in run("rewrite", "--dry-run", ".")[1]) == expected


def test_check_says_once_what_to_do_about_beta_1(run, here):
    (here / "second.py").write_text(SOURCE)
    _code, out, err = run("check", ".")
    assert b"run `nki-migrate rewrite`" not in out
    assert err.count("2 files are Beta 1 still: run `nki-migrate rewrite` on them\n") == 1
    run("rewrite", "--write", "--allow-dirty", "kernels")  # one is half migrated now: rewrite would leave it alone
    assert "1 file is Beta 1 still: run `nki-migrate rewrite` on it" in run("check", ".")[2]


def test_unchanged_does_not_hide_findings(run, here):
    run("rewrite", "--write", ".")
    _code, _out, err = run("rewrite", ".")
    assert "0 would change, 1 unchanged (1 with findings)" in err


def test_lines_that_a_diff_adds_and_removes():
    assert patch.changed_lines(b"a\nb\nc\n", b"a\nx\ny\nc") == (3, 2)
    assert patch.changed_lines(b"a\n", b"a\n") == (0, 0)


@pytest.mark.parametrize("command", ["rewrite", "check"])
def test_a_run_that_no_file_concerns_says_so(run, here, command):
    (here / "empty").mkdir()
    assert run(command, "empty")[2].splitlines()[-1] == "nothing to do: there is no Python file and no notebook"
    (here / "empty" / "x.py").write_text("print(1)\n")
    assert run(command, "empty")[2].splitlines()[-1] == "nothing to do: the file does not mention nki, or is empty"
    assert "nothing to do" not in run(command, "empty", "kernels")[2]


def test_the_list_of_commands_says_what_each_does_to_the_end(run):
    listed = run("--help")[1].decode().partition("Commands:\n")[2].partition("\n\n")[0].splitlines()
    assert len(listed) == len(cli.commands) and all(line.endswith(".") and "..." not in line for line in listed)
