"""The GitHub Action and the pre-commit hooks: their files are run as their hosts would run them."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
HOOKS = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))}
INSTALL, RUN = ACTION["runs"]["steps"]
OLD = "import neuronxcc.nki as nki\n\n\ndef f(x):\n    return nki\n"
ILLEGAL = "import nki\n\n\n@nki.jit\ndef k(x):\n    return [i for i in x]\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A workspace with a Beta 1 file and an illegal Beta 2 kernel, and the tool where the action installs it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old file.py").write_text(OLD)
    (tmp_path / "illegal.py").write_text(ILLEGAL)
    installed = tmp_path / "runner" / "nki-migrate" / "bin"
    installed.mkdir(parents=True)
    (installed / "nki-migrate").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m nki_migrate "$@"\n')
    (installed / "nki-migrate").chmod(0o755)
    return tmp_path


def action(here, **inputs):
    """Run the last step as GitHub does; its exit code, its log and its outputs."""
    values = {name: details["default"] for name, details in ACTION["inputs"].items()}
    values.update({name.replace("_", "-"): value for name, value in inputs.items()})
    given = {
        key: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda m: values[m[1]], text) for key, text in RUN["env"].items()
    }
    outputs = here / "outputs.txt"
    environment = {**os.environ, **given, "RUNNER_TEMP": str(here / "runner"), "GITHUB_OUTPUT": str(outputs)}
    environment["GITHUB_WORKSPACE"] = str(here)
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", RUN["run"]],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, outputs.read_text()


def test_the_action_annotates_the_lines(here):
    code, log, outputs = action(here, arguments="illegal.py")
    assert code == 1 and outputs == "exit-code=1\n"
    assert log.startswith("::error file=illegal.py,line=6,col=")


def test_each_line_of_the_arguments_is_one_argument(here):
    code, log, _ = action(here, command="rewrite", arguments="--select\nNKI001\n\nold file.py\n")
    assert code == 1
    assert "file=old file.py" in log and "NKM001" in log


def test_arguments_are_never_a_script(here):
    action(here, command="check", arguments="$(touch owned)\n`touch owned`\n; touch owned")
    assert not (here / "owned").exists()


def test_the_output_and_the_report_go_to_files(here):
    code, log, outputs = action(
        here, command="rewrite", arguments=".", output_format="junit", output_file="out.xml", report="report.html"
    )
    assert code == 1 and log == "" and outputs == "exit-code=1\n"
    assert ElementTree.parse(here / "out.xml").getroot().get("failures") == "1"
    assert "old file.py" in (here / "report.html").read_text("utf-8")


def test_a_clean_run_passes(here):
    (here / "illegal.py").unlink()
    assert action(here, command="check") == (0, "", "exit-code=0\n")


def test_what_the_caller_gives_reaches_the_scripts_as_data():
    for step in (INSTALL, RUN):
        assert step["shell"] == "bash" and "${{" not in step["run"]
    used = set(re.findall(r"inputs\.([\w-]+)", str(ACTION["runs"])))
    assert used == set(ACTION["inputs"])
    assert ACTION["runs"]["using"] == "composite"
    assert ACTION["outputs"]["exit-code"]["value"] == f"${{{{ steps.{RUN['id']}.outputs.exit-code }}}}"


def test_the_action_installs_this_repository():
    assert INSTALL["env"]["SOURCE"] == "${{ github.action_path }}"
    assert 'pip install --quiet --disable-pip-version-check "$SOURCE"' in INSTALL["run"]


@pytest.mark.parametrize(
    ("hook", "file", "code"),
    [
        ("nki-migrate-rewrite", "old file.py", 1),
        ("nki-migrate-rewrite", "illegal.py", 0),
        ("nki-migrate-check", "illegal.py", 1),
    ],
)
def test_a_hook_fails_for_what_it_is_about_and_changes_nothing(here, hook, file, code):
    command = shlex.split(HOOKS[hook]["entry"])
    assert command[0] == "nki-migrate"
    done = subprocess.run([sys.executable, "-m", "nki_migrate", *command[1:], file], capture_output=True, check=False)
    assert done.returncode == code
    assert (here / "old file.py").read_text() == OLD and (here / "illegal.py").read_text() == ILLEGAL


def test_hooks_are_what_pre_commit_wants():
    for hook in HOOKS.values():
        assert hook["language"] == "python" and hook["types"] == ["python"] and hook["require_serial"]


# The examples of docs/ci.md

PAGE = (ROOT / "docs" / "ci.md").read_text("utf-8")
BLOCKS = {language: re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.M | re.S) for language in ("yaml", "python")}
pytest_plugins = ["pytester"]


def example(part):
    """The one YAML example that mentions ``part``."""
    (found,) = (block for block in BLOCKS["yaml"] if part in block)
    return yaml.safe_load(found)


def test_the_workflow_of_the_page_gives_the_action_what_it_takes():
    steps = example("uses: ./tools/nki-migrate")["jobs"]["kernels"]["steps"]
    (step,) = (step for step in steps if step.get("uses") == "./tools/nki-migrate")
    assert set(step["with"]) <= set(ACTION["inputs"])
    (upload,) = (step for step in steps if "upload-artifact" in step.get("uses", ""))
    assert upload["with"]["path"] == step["with"]["report"]


def test_the_workflow_of_the_page_runs(here):
    cached = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "golden" / "running_counter", here / "kernels", ignore=cached)
    git = ["git", "-C", str(here), "-c", "user.name=n", "-c", "user.email=e"]
    for command in ("init -q -b main", "add kernels", "commit -q -m m", "update-ref refs/remotes/origin/main HEAD"):
        subprocess.run([*git, *command.split()], check=True)
    steps = example("uses: ./tools/nki-migrate")["jobs"]["kernels"]["steps"]
    given = next(step["with"] for step in steps if step.get("uses") == "./tools/nki-migrate")
    code, log, _ = action(here, **given)
    assert (code, log) == (0, "")
    assert "before.py (origin/main)" in (here / given["report"]).read_text("utf-8")


def test_the_hooks_of_the_page_exist():
    (repo,) = example("hooks:")["repos"]
    assert {hook["id"] for hook in repo["hooks"]} == set(HOOKS)


def test_the_tests_of_the_page_pass(pytester):
    for name in ("before.py", "after.py", "reference.py", "cases.toml"):
        shutil.copy(ROOT / "golden" / "running_counter" / name, pytester.path / name)
    (source,) = (block for block in BLOCKS["python"] if "nki_equivalent" in block)
    pytester.makepyfile(test_page=source)
    pytester.runpytest_subprocess("--nki-emulate", "--strict-markers").assert_outcomes(passed=2)
