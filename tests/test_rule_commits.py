"""``rewrite --commit-per-rule``: a commit for each rule, and the last one is the tree that ``--write`` leaves."""

import ast
import os
import subprocess

import pytest
from nki_migrate.cli import main
from nki_migrate.codemods import rewrite

NEWER = """\
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def double(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=2.0)
    nisa.dma_copy(dst=out, src=tile)
    return out
"""
OLD = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def copy(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, value=nl.rsqrt(nl.load(x)))
    return out
"""


def git(*arguments):
    return subprocess.run(["git", *arguments], check=True, capture_output=True, text=True).stdout


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    for name, value in {
        "NKI_MIGRATE_CACHE_DIR": "cache", "XDG_STATE_HOME": "state", "GIT_CONFIG_GLOBAL": "config", "HOME": "home",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, str(tmp_path / name / value))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    git("init", "-q")
    git("config", "user.name", "A Person")
    git("config", "user.email", "person@example.org")
    for name, text in {"old.py": OLD, "newer.py": NEWER}.items():
        (work / name).write_text(text)
    git("add", ".")
    git("commit", "-qm", "kernels")
    return work


@pytest.fixture
def run(capfd):
    def result(*arguments):
        with pytest.raises(SystemExit) as exit_:
            main(["rewrite", "--write", "--commit-per-rule", *arguments])
        return exit_.value.code, *capfd.readouterr()

    return result


def test_the_last_commit_is_the_whole_run_and_each_parses(run, here):
    (here / "run.sh").write_text("")
    code, _, err = run(".")
    commits = git("log", "--format=%h", "--reverse").split()[1:]
    assert code == 0 and len(commits) > 1 and err.count("committed ") == len(commits)
    assert (here / "old.py").read_text() == rewrite(OLD, filename="old.py").source
    for commit in commits:
        for name in ("old.py", "newer.py"):
            ast.parse(git("show", f"{commit}:{name}"))
        assert git("diff-tree", "--name-only", "-r", "--no-commit-id", commit)
        assert git("show", "-s", "--format=%s", commit).startswith("nki-migrate NK")
    assert git("status", "--porcelain") == "?? run.sh\n"
    told = git("log", "--format=%B")
    for rule in ("NKI001 ", "NKI020 load-store: "):
        assert rule in told


def test_rules_that_need_each_other_share_a_commit_that_says_so(run, here):
    run("--target", "0.2", "old.py")
    messages = git("log", "--format=%B%x00").split("\0")
    assert any("rules that go together" in each and "* NKI020 load-store: " in each for each in messages)


@pytest.mark.parametrize(
    ("prepare", "reason"),
    [
        (lambda here: (here / "old.py").write_text(OLD + "\n"), "uncommitted changes (old.py)"),
        (lambda here: git("rm", "-q", "--cached", "newer.py"), "the index has changes"),
        (
            lambda here: git("config", "user.useConfigOnly", "true") + git("config", "--unset", "user.email"),
            "no author",
        ),
        (lambda here: os.rename(".git", ".hidden"), "not all files are in a git repository"),
        (lambda here: (here / ".git/MERGE_HEAD").write_text(git("rev-parse", "HEAD")), "a merge is under way"),
    ],
)
def test_what_cannot_be_committed_is_refused_with_nothing_written(run, here, prepare, reason):
    for name in ("EMAIL", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"):
        os.environ.pop(name, None)
    prepare(here)
    before = {path: path.read_bytes() for path in here.glob("*.py")}
    code, _, err = run(".")
    assert code == 2 and reason in err and err.startswith("nki-migrate: error: ")
    assert {path: path.read_bytes() for path in here.glob("*.py")} == before


@pytest.mark.parametrize("arguments", [("--allow-dirty", "."), ("--interactive", "."), ("--check", "."), ("-",)])
def test_options_that_it_cannot_go_with(run, here, arguments):
    code, _, err = run(*arguments)
    assert code == 2 and err.count("\n") == 1 and git("log", "--format=%s") == "kernels\n"
