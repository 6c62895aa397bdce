"""The slow random tests with as many times the examples as one likes.

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
MARK = "@pytest.mark.random\n"


def main() -> int:
    times = sys.argv[1] if len(sys.argv) > 1 else "4"
    if not times.isdigit():
        raise SystemExit(f"{times!r} is no number of times")
    files = sorted(str(path) for path in TESTS.glob("test_*.py") if MARK in path.read_text(encoding="utf-8"))
    command = [sys.executable, "-m", "pytest", "-n", "auto", "-q", "-m", "random", *files]
    return subprocess.run(command, env=os.environ | {VARIABLE: times}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
