"""Nine migrated goldens with damage at one size only: which does ``verify --search`` find, and in how many seconds?

Of each command the seconds on the clock, and those of its processes, which say more where the machine is busy.

python tests/bench/planted.py [--search SECONDS]
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from nki_migrate.golden import GOLDENS

PLANTED = {
    "load_store": ("halves_swapped", "x.shape[0] == 7"),
    "mask_edge": ("negated", "x.shape[0] == 7"),
    "zeros_like": ("positive_part", "x.shape[0] == 7"),
    "isa_destination": ("standardised", "x.shape[0] == 7"),
    "tile_operators": ("combined", "a.shape[0] == 7"),
    "nl_compute": ("combined", "a.shape[0] == 7"),
    "psum_accumulate": ("long_product", "a.shape[1] == 7"),
    "loop_reduce": ("total", "x.shape[0] == 7"),
    "index_sizes": ("moved", "image.shape[0] == 7"),
}
"""By golden: the function that is damaged (``combined`` is a helper) and when. ``long_product`` needs 128 rows."""


def damaged(name: str) -> str:
    """The golden's rewritten kernels; the function ends with two instructions more where the condition holds."""
    function, condition = PLANTED[name]
    lines = GOLDENS[name].after.splitlines(keepends=True)
    start = next(n for n, line in enumerate(lines) if line.startswith(f"def {function}("))
    inside = [n for n in range(start + 1, len(lines)) if lines[n].startswith("    ")]
    body = [n for n in inside if all(not line[:1].strip() for line in lines[start + 1 : n])]
    end = next((n for n in body if lines[n].startswith("    return ")), body[-1] + 1)
    surplus = [
        f"    if {condition}:\n",
        "        surplus = nl.ndarray((1, 1), dtype=nl.float32, buffer=nl.sbuf)\n",
        "        nisa.memset(dst=surplus, value=1.0)\n",
    ]
    return "".join([*lines[:end], *surplus, *lines[end:]])


def used() -> float:
    """Seconds of processors that the commands have used until now."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime


def searched(name: str, seconds: float) -> tuple[str, str]:
    """What the search came to, and how long the whole command took."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        for file in GOLDENS[name].before_path.parent.iterdir():
            if file.suffix in (".py", ".toml"):
                shutil.copy(file, folder)
        (folder / "damaged.py").write_text(damaged(name))
        options = ["--search", str(seconds), "--no-cache", "--output-format", "json"]
        command = [sys.executable, "-m", "nki_migrate", "verify", *options, "before.py", "damaged.py"]
        start, before = time.monotonic(), used()
        ended = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        took = f"{time.monotonic() - start:.1f} s ({used() - before:.1f} s of processors)"
    if ended.returncode not in (0, 1):
        return f"exit code {ended.returncode}: {ended.stderr.strip()}", took
    results = json.loads(ended.stdout)["results"]
    verdicts = [(result["case"].startswith("search: "), result["verdict"]) for result in results]
    if any(verdict != "equal" for is_found, verdict in verdicts if not is_found):
        return "shown by the golden's own cases", took
    return "found" if (True, "different") in verdicts else "not found", took


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--search", type=float, default=8)
    options = parser.parse_args()
    results = []
    for name, (function, condition) in PLANTED.items():
        result, took = searched(name, options.search)
        results.append(result)
        print(f"{name:16} {function:15} {condition:20} {result}, {took}", flush=True)
    print(f"found {results.count('found')} of {len(results)}")


if __name__ == "__main__":
    main()
