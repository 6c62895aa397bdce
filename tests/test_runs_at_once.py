"""Two runs that write at once: the second waits for the first, and the journal is of the one that wrote."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from nki_migrate.golden import GOLDENS

NAMES = ("a.py", "b.py", "c.py")
BEFORE = GOLDENS["running_counter"].before
_SLOW = """
import pathlib, sys, time
from nki_migrate import store
from nki_migrate.cli import main
real = store.replace_together
def slow(*arguments):
    pathlib.Path("../writes").touch()
    while not pathlib.Path("../go").exists():
        time.sleep(0.01)
    real(*arguments)
store.replace_together = slow
main(["rewrite", "--write", "--no-cache", "-j", "1", "."])
"""
_PLAIN = "import sys; from nki_migrate.cli import main; main(sys.argv[1:])"


@pytest.mark.parametrize("command", [["rewrite", "--write", "--no-cache", "-j", "1", "."], ["undo"]])
@pytest.mark.parametrize("is_repository", [True, False])
def test_a_run_waits_for_one_that_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str], is_repository: bool
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    work = tmp_path / "work"
    work.mkdir()
    for name in NAMES:
        (work / name).write_text(BEFORE)
    if is_repository:
        git = ["git", "-c", "user.name=n", "-c", "user.email=e"]
        for arguments in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "m"]):
            subprocess.run([*git, *arguments], cwd=work, check=True)

    def begun(program: str, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", program, *arguments], cwd=work, stderr=subprocess.PIPE, text=True
        )

    first = begun(_SLOW)
    while not (tmp_path / "writes").exists() and first.poll() is None:
        time.sleep(0.01)
    second = begun(_PLAIN, *command)
    assert second.stderr is not None
    assert second.stderr.readline() == "another run of nki-migrate writes here: waiting for it\n"
    written = [name for name in NAMES if (work / name).read_text() != BEFORE]
    assert written == []
    (tmp_path / "go").touch()
    assert first.communicate()[1].splitlines()[-1].startswith("3 files: 3 changed") and first.returncode == 0
    _, said = second.communicate()
    if command == ["undo"]:
        assert second.returncode == 0 and "3 files restored" in said
    else:
        # What it would write is there: the journal is not its own.
        assert second.returncode == 0 and " 0 failed" in said
        assert all((work / name).read_text() != BEFORE for name in NAMES)
        assert subprocess.run([sys.executable, "-c", _PLAIN, "undo"], cwd=work, check=False).returncode == 0
    assert all((work / name).read_text() == BEFORE for name in NAMES)
