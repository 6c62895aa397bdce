"""The kernels of the SDK's documentation at each tag: at their own version of NKI, and migrated to the newest.

    python tests/bench/tags.py SDK [--seconds N] [TAG...]

SDK is a git directory of aws-neuron/aws-neuron-sdk. For each tag: the files below ``nki`` that import NKI, stubs left
out; how many of them ``check`` calls legal at the tag's own version; how many at the newest, after ``rewrite --from``
with ``--unsafe``; and of the kernels that ``cases suggest`` finds a case for within ``--seconds`` a file, at that
version, how ``verify --from`` of the old and the new file ends. One line a file that is not equal, then a line a tag.
Nothing is kept.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from nki_migrate.runtime.spec.versions import NEWEST, VERSIONS

TAGS = ("v2.27.1", "v2.28.1", "v2.29.1", "v2.30.0", "v2.31.1", "v2.32.0")
_IMPORT = re.compile(rb"^\s*(import nki\b|from nki[. ])", re.MULTILINE)
_BETA_1 = b"neuronxcc.nki"
_COUNTED = re.compile(r"(\d+) (equal|different|undecided|in error)")


def own_version(tag: str) -> str:
    """The version of NKI that came with a release of the SDK."""
    release = tag.removeprefix("v").rpartition(".")[0]
    return next(item.name for item in VERSIONS if release in item.releases)


def kernels_at(sdk: Path, tag: str, place: Path) -> list[Path]:
    """The files of a tag that import NKI, and nothing of Beta 1, below ``place``."""
    archive = subprocess.run(["git", f"--git-dir={sdk}", "archive", tag, "nki"], capture_output=True, check=True).stdout
    subprocess.run(["tar", "-x", "-C", str(place)], input=archive, check=True)
    found = (path for path in sorted(place.rglob("*.py")) if "api" not in path.relative_to(place).parts)
    return [path for path in found if _IMPORT.search(data := path.read_bytes()) and _BETA_1 not in data]


def told(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """``nki-migrate`` with these arguments."""
    command = [sys.executable, "-m", "nki_migrate", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def legal(files: list[Path], version: str) -> int:
    """How many of the files are legal at a version."""
    return sum(told("check", "--target", version, file).returncode == 0 for file in files)


def verified(before: Path, after: Path, version: str, seconds: float) -> Counter[str]:
    """How the cases that are found for a file end."""
    cases = before.with_suffix(".toml")
    cases.write_text(told("cases", "suggest", "--target", version, "--seconds", str(seconds), before).stdout)
    if "[[case]]" not in cases.read_text():
        return Counter({"without a case": 1})
    arguments = ("verify", "--from", version, "--target", NEWEST.name, "--cases", cases, before, after)
    said = told(*arguments).stdout.strip().split("\n")
    ended = next((line for line in reversed(said) if " equal, " in line), "")
    return +Counter({what: int(number) for number, what in _COUNTED.findall(ended)})


def main(sdk: Path, tags: list[str], seconds: float) -> int:
    """Print a line a tag; 1 if something differs."""
    total: Counter[str] = Counter()
    for tag in tags:
        version = own_version(tag)
        with tempfile.TemporaryDirectory() as old, tempfile.TemporaryDirectory() as new:
            before, after = (kernels_at(sdk, tag, Path(place)) for place in (old, new))
            told("rewrite", "--write", "--unsafe", "--allow-dirty", "--from", version, *after)
            ended: Counter[str] = Counter()
            for one, other in zip(before, after, strict=True):
                found = verified(one, other, version, seconds)
                ended += found
                if set(found) - {"equal"}:
                    print(f"  {one.relative_to(old)}: {dict(found)}", flush=True)
            count = f"{legal(before, version)} of {len(before)} legal at {version}, {legal(after, NEWEST.name)} at "
            cases = ", ".join(f"{ended[what]} {what}" for what in sorted(ended)) or "none"
            print(f"{tag}: {count}{NEWEST.name} after; cases: {cases}", flush=True)
            total += ended
    return 1 if total["different"] else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sdk", type=Path, metavar="SDK")
    parser.add_argument("tags", nargs="*", default=TAGS, metavar="TAG")
    parser.add_argument("--seconds", type=float, default=20.0, metavar="N")
    options = parser.parse_intermixed_args()
    sys.exit(main(options.sdk, list(options.tags), options.seconds))
