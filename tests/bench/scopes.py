"""Random kernels of scopes for as long as one likes: none may be rewritten without a finding, and be wrong.

python tests/bench/scopes.py [--seconds 300] [--seed N]
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from nki_migrate.runtime.pool import pool

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from scope_kernels import kernel, tried


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    choose, ended, results = random.Random(options.seed), time.monotonic() + options.seconds, Counter[str]()
    with tempfile.TemporaryDirectory() as folder, pool(1) as workers:
        while time.monotonic() < ended:
            source = kernel(choose)
            result, text = tried(source, workers, folder)
            results[result] += 1
            if result in ("wrong", "stopped") and results[result] <= 3:
                print(f"--- {result}\n{source}\n--- output\n{text}", flush=True)
    print(dict(results))


if __name__ == "__main__":
    main()
