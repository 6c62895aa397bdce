"""The command line: exit codes, streams, formats, and one clear line for bad input."""

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from nki_migrate import codemods
from nki_migrate.cli import main
from nki_migrate.codemods import RULES, Finding, Outcome, Rule
from nki_migrate.languages import rules as rules_of_others

OLD, NEW = b"import neuronxcc.nki as nki\n", b"import nki\n"
NAMES = {"NKI001": "imports", "NKI010": "masks", "NKI020": "blocks"}
FAKE_RULES = {code: Rule(code, name, "safe", "s", "e") for code, name in NAMES.items()}


def rename(source, options, filename):
    """Stands in for the codemods: one import; a line with ``review`` or ``manual`` is a finding."""
    found = [(n, w) for n, line in enumerate(source.split("\n"), 1) for w in ("review", "manual") if w in line]
    findings = tuple(Finding(n, 5, "NKI020", word, f"a {word} matter", "do it by hand") for n, word in found)
    if not options.enabled("NKI001"):
        return Outcome(source, findings)
    return Outcome(source.replace(OLD.decode(), NEW.decode()), findings, {"NKI001": source.count(OLD.decode())})


def stand_in(monkeypatch, rewrite):
    """``rewrite`` in place of the codemods."""
    monkeypatch.setattr(codemods, "rewrite", rewrite)

    def together(sources, options, homes):
        return {path: rewrite(text, options, path) for path, text in sources.items()}

    monkeypatch.setattr(codemods, "rewrite_together", together)


@pytest.fixture
def fake(monkeypatch):
    stand_in(monkeypatch, rename)
    monkeypatch.setattr(codemods, "RULES", FAKE_RULES)


@pytest.fixture(autouse=True)
def tree(tmp_path, monkeypatch):
    """A directory with one file of each kind."""
    monkeypatch.chdir(tmp_path)
    for name, data in {
        "plain.py": b"x = 1\n",
        "old.py": OLD + b"x = 1\n",
        "left.py": OLD + b"x = 1  # review\ny = 1  # manual\n",
        "same.py": b"# neuronxcc.nki\n",
        "broken.py": OLD + b"def (:\n",
    }.items():
        (tmp_path / name).write_bytes(data)
    return tmp_path


class Result:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out.decode(errors="replace"), err.decode()
        self.data = out

    @property
    def error(self):
        """The one line that bad input gives."""
        assert self.code == 2 and self.out == "" and self.err.count("\n") == 1
        assert "Traceback" not in self.err
        return self.err.removeprefix("nki-migrate: error: ").rstrip("\n")


@pytest.fixture
def run(capfdbinary, monkeypatch):
    def run_command(*arguments, stdin=b""):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as exit_:
            main(list(arguments))
        return Result(exit_.value.code, *capfdbinary.readouterr())

    return run_command


# Exit codes and streams of rewrite


def test_a_dry_run_prints_the_diff_and_changes_nothing(fake, run, tree):
    result = run("rewrite", "old.py")
    assert result.code == 1
    assert result.out.splitlines() == [
        "--- a/old.py",
        "+++ b/old.py",
        "@@ -1,2 +1,2 @@",
        "-import neuronxcc.nki as nki",
        "+import nki",
        " x = 1",
    ]
    assert result.err == "1 file: 1 would change, 0 unchanged, 0 skipped, 0 failed; 0 findings\n"
    assert (tree / "old.py").read_bytes() == OLD + b"x = 1\n"


def test_the_diff_is_for_git_apply_and_gives_what_write_gives(fake, run, tree):
    subprocess.run(["git", "apply", "-"], input=run("rewrite", "old.py", "left.py").data, check=True)
    applied = (tree / "old.py").read_bytes(), (tree / "left.py").read_bytes()
    (tree / "old.py").write_bytes(OLD + b"x = 1\n")
    (tree / "left.py").write_bytes(OLD + b"x = 1  # review\ny = 1  # manual\n")
    run("rewrite", "--write", "old.py", "left.py")
    assert applied == ((tree / "old.py").read_bytes(), (tree / "left.py").read_bytes())


def test_write_leaves_nothing_to_do(fake, run, tree):
    result = run("rewrite", "--write", "old.py")
    assert (result.code, result.out) == (0, "")
    assert result.err.splitlines() == [
        "old.py: rewritten",
        "1 file: 1 changed, 0 unchanged, 0 skipped, 0 failed; 0 findings",
    ]
    assert (tree / "old.py").read_bytes() == NEW + b"x = 1\n"
    assert run("rewrite", "old.py").code == 0


def test_check_names_what_would_change_without_a_diff(fake, run, tree):
    result = run("rewrite", "--check", "old.py")
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith("old.py: would change\n1 file: 1 would change")
    assert (tree / "old.py").read_bytes().startswith(OLD)
    assert run("rewrite", "--check", "same.py").code == 0


def test_findings_have_a_place_a_code_and_help_and_leave_something_to_do(fake, run):
    result = run("rewrite", "--write", "left.py")
    assert result.code == 1
    assert result.err.splitlines() == [
        "left.py: rewritten",
        "left.py:2:5: NKI020 [review] a review matter",
        "    help: do it by hand",
        "left.py:3:5: NKI020 [manual] a manual matter",
        "    help: do it by hand",
        "1 file: 1 changed, 0 unchanged, 0 skipped, 0 failed; 2 findings (1 manual, 1 review)",
    ]


def test_one_file_that_fails_does_not_keep_others_from_being_written(fake, run, tree):
    result = run("rewrite", "--write", ".")
    assert result.code == 2
    assert re.search(r"^broken.py: failed: line 2: does not parse as Python 3\.\d+: invalid syntax$", result.err, re.M)
    assert (
        result.err.splitlines()[-1]
        == "5 files: 2 changed, 1 unchanged, 1 skipped, 1 failed; 2 findings (1 manual, 1 review)"
    )
    assert (tree / "old.py").read_bytes().startswith(NEW)
    assert (tree / "broken.py").read_bytes() == OLD + b"def (:\n"


def test_a_file_that_cannot_be_written_fails(fake, run, tree, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    result = run("rewrite", "--write", "old.py")
    assert result.code == 2
    assert result.err.startswith("old.py: failed: cannot write: the file is read-only")
    assert "0 changed, 0 unchanged, 0 skipped, 1 failed" in result.err
    assert (tree / "old.py").read_bytes().startswith(OLD)


def test_a_rewrite_that_loses_a_comment_is_not_written(run, tree, monkeypatch):
    stand_in(monkeypatch, lambda source, options, filename: Outcome("import nki\n"))
    result = run("rewrite", "--write", "left.py")
    assert result.code == 2
    assert "left.py: failed: not rewritten: the rewritten file has lost 2 comment(s), such as '# manual'" in result.err
    assert (tree / "left.py").read_bytes().startswith(OLD)


def test_an_empty_directory_is_done(fake, run, tree):
    (tree / "empty").mkdir()
    result = run("rewrite", "empty")
    assert (result.code, result.out) == (0, "")
    assert result.err == (
        "0 files: 0 would change, 0 unchanged, 0 skipped, 0 failed; 0 findings\n"
        "nothing to do: there is no Python file and no notebook\n"
    )


# Standard input


def test_standard_input_gives_a_diff(fake, run):
    result = run("rewrite", "-", stdin=OLD)
    assert result.code == 1
    assert result.out.splitlines() == [
        "--- a/-",
        "+++ b/-",
        "@@ -1 +1 @@",
        "-import neuronxcc.nki as nki",
        "+import nki",
    ]


@pytest.mark.parametrize(
    ("source", "code", "output"),
    [
        (b"\xef\xbb\xbf" + OLD.replace(b"\n", b"\r\n") + b"# end", 0, b"\xef\xbb\xbfimport nki\r\n# end"),
        (b"x = '\xff'", 0, b"x = '\xff'"),
        (b"", 0, b""),
        (OLD + b"# review\n", 1, NEW + b"# review\n"),
        (OLD + b"def (:", 2, b""),
    ],
    ids=["rewritten", "does not concern it", "empty", "with a finding", "broken"],
)
def test_write_from_standard_input_prints_the_source(fake, run, source, code, output):
    result = run("rewrite", "--write", "-", stdin=source)
    assert (result.code, result.data) == (code, output)


# JSON


def test_json_has_the_documented_schema_and_counts_that_add_up(fake, run):
    result = run("rewrite", ".", "--output-format", "json")
    document = json.loads(result.out)
    assert result.code == 2 and result.err == ""
    assert document.keys() == {"files", "summary"}
    for file in document["files"]:
        assert file.keys() == {"path", "status", "reason", "findings", "ignored", "decisions", "assumptions"}
        assert (file["reason"] is None) == (file["status"] in ("changed", "unchanged"))
        for finding in file["findings"]:
            assert finding.keys() == {"code", "applicability", "line", "column", "message", "help"}
    assert {file["path"]: file["status"] for file in document["files"]} == {
        "broken.py": "failed",
        "left.py": "changed",
        "old.py": "changed",
        "plain.py": "skipped",
        "same.py": "unchanged",
    }
    assert document["files"][1]["findings"][0] == {
        "code": "NKI020",
        "applicability": "review",
        "line": 2,
        "column": 5,
        "message": "a review matter",
        "help": "do it by hand",
    }
    summary = document["summary"]
    assert summary == {
        "files": 5,
        "changed": 2,
        "unchanged": 1,
        "skipped": 1,
        "failed": 1,
        "ignored": 0,
        "findings": 2,
        "assumptions": 0,
        "applied": {"NKI001": 2},
    }


def test_json_after_write_tells_what_was_done(fake, run, tree):
    document = json.loads(run("rewrite", "--write", "old.py", "--output-format=json").out)
    assert document["files"][0]["status"] == "changed"
    assert (tree / "old.py").read_bytes().startswith(NEW)


def test_names_that_are_no_text_do_not_break_the_report(fake, run, tree):
    (tree / os.fsdecode(b"caf\xe9.py")).write_bytes(OLD)
    assert "caf\ufffd.py: would change" in run("rewrite", "--check", ".").err
    assert json.loads(run("rewrite", ".", "--output-format", "json").out)["summary"]["files"] == 6


# Choosing rules


@pytest.mark.parametrize(
    ("options", "changed"),
    [
        ([], True),
        (["--select", "NKI001"], True),
        (["--select", "nki020, NKI001"], True),
        (["--select", "NKI020", "--select", "NKI00"], True),
        (["--select", "NKI020"], False),
        (["--ignore", "NKI001"], False),
        (["--select", "NKI", "--ignore", "NKI00"], False),
    ],
)
def test_rules_are_chosen_by_codes_and_their_beginnings(fake, run, options, changed):
    assert ("+import nki" in run("rewrite", "old.py", *options).out) == changed


def test_rules_are_chosen_by_their_names(fake, run):
    name = FAKE_RULES["NKI001"].name
    assert "+import nki" in run("rewrite", "old.py", "--select", f"NKI020,{name.title()}").out
    assert "+import nki" not in run("rewrite", "old.py", "--ignore", name).out
    error = run("rewrite", "old.py", "--select", name[:-1]).error
    assert f"no rule has the code or name {name[:-1]!r}; did you mean" in error and name in error


@pytest.mark.parametrize("option", ["--select", "--ignore"])
def test_an_unknown_code_is_an_error_with_suggestions(fake, run, option):
    assert run("rewrite", "old.py", option, "NKI001,NKI011").error == (
        f"{option}: no rule has the code or name 'NKI011'; did you mean NKI001 or NKI010 or NKI020? "
        "Try 'nki-migrate rewrite --help'."
    )
    assert "no rule has the code or name 'X' (see nki-migrate rules)." in run("rewrite", "old.py", option, "X").error
    assert "no rule has the code or name ''" in run("rewrite", "old.py", option, "NKI001,").error


# Bad input: one line, exit code 2


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["rewrite", "gone.py"], "gone.py: no such file or directory"),
        (["rewrite", "old.py", "gone"], "gone: no such file or directory"),
        (["check", "gone.py"], "gone.py: no such file or directory"),
        (["rewrite"], "Missing argument 'PATH...'. Try 'nki-migrate rewrite --help'."),
        (["rewrite", "--write", "--check", "old.py"], "--write and --check exclude each other."),
        (["rewrite", "--write", "--output-format", "json", "-"], "--write prints the source of -"),
        (["rewrite", "--jobs", "0", "old.py"], "Invalid value for '-j' / '--jobs'"),
        (["rewrite", "--target", "9", "old.py"], "Invalid value for '--target'"),
        (["rewrite", "--wirte", "old.py"], "No such option '--wirte'"),
        (["layout", "kernel.py"], "'kernel.py' names no kernel: write FILE::KERNEL"),
        (["layout", "::kernel"], "'::kernel' names no kernel"),
        (["explain", "NKI000000"], "unknown code 'NKI000000'"),
        (["emulate", "--"], "Missing argument '-- COMMAND...'"),
        (["emulate", "--", "no-such-command"], "no-such-command: command not found"),
        (["verify", "gone.py", "old.py"], "gone.py"),
        (["nonsense"], "No such command 'nonsense'."),
    ],
)
def test_bad_input_is_one_line(run, tree, arguments, error):
    before = {path.name: path.read_bytes() for path in tree.iterdir()}
    assert run(*arguments).error.startswith(error)
    assert before == {path.name: path.read_bytes() for path in tree.iterdir()}


def test_a_defect_of_ours_is_one_line_too_unless_the_traceback_is_asked_for(run, monkeypatch):
    def fail(*arguments):
        raise RuntimeError("two\nlines")

    monkeypatch.setattr("nki_migrate.rewrite_command.found_files", fail)
    assert run("rewrite", "old.py").error.startswith("internal error: RuntimeError: two lines (please report it;")
    monkeypatch.setenv("NKI_MIGRATE_TRACEBACK", "1")
    with pytest.raises(RuntimeError):
        main(["rewrite", "old.py"])


def test_an_interrupt_ends_with_the_shells_exit_code(run, monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("nki_migrate.rewrite_command.found_files", interrupt)
    result = run("rewrite", "--write", "old.py")
    assert (result.code, result.err.strip()) == (130, "nki-migrate: error: interrupted")


# The other commands


def test_check_reports_what_is_not_legal(run, tree):
    (tree / "legal.py").write_text("import nki\n\n\n@nki.jit\ndef kernel(x):\n    return x\n")
    (tree / "illegal.py").write_text("import nki\n\n\n@nki.jit\ndef kernel(x):\n    return [y for y in x]\n")
    assert run("check", "legal.py").code == 0
    result = run("check", "legal.py", "illegal.py", "plain.py")
    assert result.code == 1
    assert re.match(r"illegal\.py:6:12: NKL\d+ \[manual\] .+\n    help: .+\n$", result.out)
    assert result.err == "3 files: 1 legal, 1 not legal, 1 skipped, 0 failed; 1 finding (1 manual)\n"
    files = json.loads(run("check", "illegal.py", "--output-format", "json").out)["files"]
    assert files[0]["findings"][0]["line"] == 6
    assert run("check", "broken.py").code == 2


def test_check_judges_helpers_whose_kernels_are_elsewhere(run, tree):
    (tree / "helper.py").write_text("import neuronxcc.nki.language as nl\n\n\ndef helper(x):\n    return nl.load(x)\n")
    assert "helper.py:5:12: NKL050" in run("check", "helper.py").out
    (tree / "host.py").write_text("import nki.language as nl\n\n\ndef host(x):\n    return [nl.float32 for y in x]\n")
    assert run("check", "host.py").code == 0


def test_rules_lists_all(run):
    lines = run("rules").out.splitlines()
    assert [line.split()[0] for line in lines] == ["CODE", *sorted({*RULES, *rules_of_others()})]
    rules = json.loads(run("rules", "--output-format", "json").out)
    assert [rule["code"] for rule in rules] == sorted({*RULES, *rules_of_others()})
    assert all(rule.keys() == {"code", "name", "applicability", "summary"} for rule in rules)


@pytest.mark.parametrize("code", sorted(RULES))
def test_every_rule_is_explained_with_an_example(run, code):
    result = run("explain", code.lower())
    assert result.code == 0
    rule = RULES[code]
    assert result.out.startswith(f"{code} {rule.name} [{rule.applicability}]\n\n{rule.summary}".replace("``", "`"))
    place = " (golden/" if rule.goldens else ":\n\n    "
    assert f"\n\nBefore{place}" in result.out and f"\n\nAfter{place}" in result.out


def test_a_rule_is_explained_by_its_name_with_all_that_share_it(run):
    for name in {rule.name for rule in RULES.values()}:
        shared = [run("explain", code).out for code in sorted(RULES) if RULES[code].name == name]
        assert run("explain", name).out == "\n".join(shared)


def test_every_code_of_check_is_explained(run):
    from nki_migrate.runtime.legality import CODES

    for code in CODES:
        assert run("explain", code).out.startswith(f"{code} ")


def test_emulate_gives_the_commands_exit_code(run):
    assert run("emulate", "--", sys.executable, "-c", "raise SystemExit(7)").code == 7
    assert run("emulate", sys.executable, "-c", "import nki.language").code == 0


@pytest.mark.parametrize(
    "command", ["rewrite", "undo", "verify", "check", "layout", "emulate", "record", "cases", "rules", "explain"]
)
def test_every_command_has_help(run, command):
    result = run(command, "--help")
    assert result.code == 0
    assert result.out.startswith(f"Usage: nki-migrate {command} ")


def test_options_are_those_of_the_contract(run):
    for command, options in {
        "rewrite": "--write --allow-dirty --check --select --ignore --unsafe --allocation --blocks --module --target "
        "--jobs --output-format",
        "verify": "--migrate --base --search --tiles --jobs --timeout --memory --no-cache --no-execute "
        "--cases --kernel --level --hardware --output-format",
        "record": "--out --data",
        "cases": "suggest",
        "layout": "--cases --case --output-format",
    }.items():
        text = run(command, "--help").out
        assert all(f" {option} " in text for option in options.split())


def test_version_and_bare_call(run):
    assert re.fullmatch(r"nki-migrate, version \d+\.\d+\.\d+\n", run("--version").out)
    bare = run()
    assert (bare.code, bare.out) == (2, "")
    assert bare.err.startswith("Usage: nki-migrate")


def test_help_imports_nothing_heavy():
    script = (
        "import sys\n"
        "from nki_migrate.cli import main\n"
        "try: main(['rewrite', '--help'])\n"
        "except SystemExit: print(sorted({'libcst', 'numpy', 'black', 'rich', 'ml_dtypes'} & sys.modules.keys()))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_reader_that_stops_reading_is_no_error(tree):
    (tree / "many.py").write_bytes(b"# neuronxcc\ndef (:\n")
    command = f"{sys.executable} -m nki_migrate explain NKI001 | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("NKI001 ") and done.stderr == ""


def test_every_code_that_the_codemods_use_is_a_rule_that_can_be_explained():
    folder = Path(codemods.__file__).parent
    used = {code for path in folder.rglob("*.py") for code in re.findall(r"\bNKI\d{3}\b", path.read_text())}
    assert used <= RULES.keys()


def test_a_version_of_nki_that_is_not_known_is_one_line():
    from nki_migrate.errors import InputError
    from nki_migrate.languages import asked

    assert asked("0.3", None) == asked("nki==0.3", None) == ("", "0.3", "")
    with pytest.raises(InputError, match=r"there is no NKI version '0\.9': there are 0\.2, 0\.3"):
        asked("0.9", None)
