"""The slow tests that plain ``pytest`` leaves out; random programs are as many times as many as one likes.

python tests/bench/random_runs.py [TIMES]
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from examples import VARIABLE

TESTS = Path(__file__).resolve().parent.parent
MARKS = ("pytest.mark.random", "sampled(")


def main() -> int:
    times = sys.argv[1] if len(sys.argv) > 1 else "4"
    if not times.isdigit():
        raise SystemExit(f"{times!r} is no number of times")
    files = sorted(str(path) for path in TESTS.glob("test_*.py") if _has_slow_tests(path))
    command = [sys.executable, "-m", "pytest", "-n", "auto", "-q", "-m", "random", *files]
    return subprocess.run(command, env=os.environ | {VARIABLE: times}, check=False).returncode


def _has_slow_tests(path: Path) -> bool:
    text = path.read_text(encoding="utf-8")
    return any(mark in text for mark in MARKS)


if __name__ == "__main__":
    sys.exit(main())
