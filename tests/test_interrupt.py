"""Ctrl-C ends a run with several processes at once, and Python's own end takes no time after it."""

import os
import signal
import subprocess
import sys
import time

from nki_migrate.golden import GOLDENS

_FILES = 40
_SECONDS = 4.0
"""What a loaded machine may take; by itself it is a tenth of a second, and was 22 s while processes finished."""


def test_ctrl_c_ends_a_run_of_two_processes(tmp_path):
    before = GOLDENS["fused_rmsnorm"].before
    for number in range(_FILES):
        (tmp_path / f"k{number}.py").write_text(before)
    command = [sys.executable, "-m", "nki_migrate", "rewrite", "--no-cache", "--jobs", "2", "."]
    run = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True, text=True
    )
    time.sleep(1.5)  # it has begun, and needs several times that
    began = time.perf_counter()
    os.killpg(run.pid, signal.SIGINT)
    _out, err = run.communicate(timeout=60)
    assert (run.returncode, time.perf_counter() - began < _SECONDS) == (130, True)
    assert err.strip().split("\n")[-1] == "nki-migrate: error: interrupted" and "Traceback" not in err


def test_nothing_is_collected_at_the_end():
    told = "import atexit, gc\natexit.register(lambda: print(gc.get_freeze_count() > 0))\n"
    run = "from nki_migrate.__main__ import main\nmain()\n"
    for arguments, code in ((["rules"], 0), (["nothing"], 2)):
        done = subprocess.run(
            [sys.executable, "-c", told + run, *arguments], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout.splitlines()[-1]) == (code, "True")
