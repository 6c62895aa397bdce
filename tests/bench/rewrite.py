"""How long a dry run over a tree takes, against LibCST's one-rule codemod and against other versions of this tool.

    python tests/bench/rewrite.py TREE [--also NKI_MIGRATE ...] [--jobs 2] [--repeat 1]

TREE is copied first. Measured are whole processes with their children: seconds on the clock and of processors, and the
largest process. LibCST's rule is ``convert_format_to_fstring``; it runs with the Python of this script. ``--also`` is
the command ``nki-migrate`` of another checkout's virtual environment. All run in turns, in one run: only the ratios
mean anything, and they are to the first line, of the shortest of ``--repeat`` turns each.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Cost:
    """What one process and its children took: seconds on the clock, seconds of processors, KiB of the largest."""

    wall: float
    processors: float
    memory: int


def cost(command: list[str], tree: Path) -> Cost:
    """The cost of a command in ``tree``; exit code 1 says that something is left to do.

    Raises ``RuntimeError`` where the command fails.
    """
    began = time.perf_counter()
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, cwd=tree, stdout=subprocess.DEVNULL, stderr=said)
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
        code = os.waitstatus_to_exitcode(status)
        process.returncode = code
        if code not in (0, 1):
            said.seek(0)
            raise RuntimeError(f"{command[0]} ended with {code}: {said.read().decode(errors='replace')[-400:]}")
    return Cost(wall, used.ru_utime + used.ru_stime, used.ru_maxrss)


def commands(options: argparse.Namespace) -> dict[str, list[str]]:
    """The commands by the name of their line."""
    rule = "convert_format_to_fstring.ConvertFormatStringCommand"
    jobs = str(options.jobs)
    libcst = [sys.executable, "-m", "libcst.tool", "codemod", rule, "--jobs", jobs, "-u", "3", "--hide-progress", "."]
    own = str(Path(sys.executable).parent / "nki-migrate")
    found = {"LibCST, one rule": libcst, "this checkout": [own, "rewrite", "--no-cache", "--jobs", jobs, "."]}
    return found | {tool: [tool, "rewrite", "--jobs", jobs, "."] for tool in options.also}


def main(argv: list[str]) -> int:
    """Print a line for each command; 2 if one of them fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path, metavar="TREE")
    parser.add_argument("--also", action="append", default=[], metavar="NKI_MIGRATE", help="another version's command")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=1)
    options = parser.parse_args(argv)
    if not options.tree.is_dir():
        parser.error(f"{options.tree} is no directory")
    best: dict[str, Cost] = {}
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        shutil.copytree(options.tree, tree, symlinks=True, ignore=shutil.ignore_patterns(".git"))
        for _ in range(options.repeat):
            for name, command in commands(options).items():
                try:
                    found = cost(command, tree)
                except (OSError, RuntimeError) as error:
                    print(f"{name}: {error}", file=sys.stderr)
                    return 2
                best[name] = min(best.get(name, found), found, key=lambda one: one.processors)
    first = next(iter(best.values()))
    print(f"{'':40} {'clock s':>9} {'CPU s':>9} {'of LibCST':>10} {'MiB':>6}")
    for name, one in best.items():
        ratio = one.processors / first.processors
        print(f"{name[-40:]:40} {one.wall:9.1f} {one.processors:9.1f} {ratio:9.1f}x {one.memory // 1024:6}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
