"""Ctrl-C ends a run with several processes, also while they start, and Python's own end takes no time after it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from nki_migrate.golden import GOLDENS

_FILES = 12
"""Enough for several processes."""
_RUN = """
import os, signal, sys
from nki_migrate.__main__ import main
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts what runs behind it without
sent = []
def interrupt(*_):
    if not sent:
        sent.append(True)
        os.{call}
{when}
sys.argv = ["nki-migrate", "rewrite", "--no-cache", "--jobs", "2", "."]
main()
"""
_WHEN = {
    "while a process starts": "os.register_at_fork(after_in_parent=interrupt)",
    "while files are rewritten": "from nki_migrate import rewriting\nrewriting.Future.result = interrupt",
}
_CALL = {"one process": "kill(os.getpid(), signal.SIGINT)", "the terminal": "killpg(os.getpid(), signal.SIGINT)"}


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="processes are not forked")
@pytest.mark.parametrize("call", _CALL)
@pytest.mark.parametrize("when", _WHEN)
def test_ctrl_c_ends_a_run_of_two_processes(tmp_path: Path, when: str, call: str) -> None:
    for number in range(_FILES):
        (tmp_path / f"k{number}.py").write_text(GOLDENS["fused_rmsnorm"].before)
    program = _RUN.format(call=_CALL[call], when=_WHEN[when])
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, start_new_session=True, check=False,
    )  # fmt: skip
    assert done.returncode == 130
    assert done.stderr.strip().split("\n")[-1] == "nki-migrate: error: interrupted" and "Traceback" not in done.stderr


def test_nothing_is_collected_at_the_end() -> None:
    told = "import atexit, gc\natexit.register(lambda: print(gc.get_freeze_count() > 0))\n"
    run = "from nki_migrate.__main__ import main\nmain()\n"
    for arguments, code in ((["rules"], 0), (["nothing"], 2)):
        done = subprocess.run(
            [sys.executable, "-c", told + run, *arguments], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout.splitlines()[-1]) == (code, "True")
