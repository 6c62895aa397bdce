"""The listings of the README: what its ``console`` blocks show is what the commands print.

``python tests/readme.py`` runs them and writes the README anew; with ``--command N`` it prints the N-th ``sh``
block. ``test_cli_readme.py`` checks the listings, ``.ci/run`` runs the ``sh`` blocks.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"

_LISTING = re.compile(r"(?<=^```console\n)(.*?)(?=^```$)", re.M | re.S)
_COMMANDS = re.compile(r"^```sh\n(.*?)^```$", re.M | re.S)


def listings(text: str) -> list[str]:
    """The contents of all ``console`` blocks."""
    return _LISTING.findall(text)


def commands(text: str) -> list[str]:
    """The contents of all ``sh`` blocks."""
    return _COMMANDS.findall(text)


def run_again(listing: str) -> str:
    """The listing with the output that its commands (``$ ...``, continued by a backslash) give now."""
    parts = re.split(r"^\$ ((?:.*\\\n)*.*)\n", listing, flags=re.M)
    return "".join(f"$ {command}\n{printed_by(command)}" for command in parts[1::2])


def printed_by(command: str) -> str:
    """What ``command`` prints on stdout and stderr, run by bash in the root of the repository."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "NO_COLOR": "1", "COLUMNS": "80", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )
    return done.stdout if done.stdout.endswith("\n") or not done.stdout else done.stdout + "\n"


def main(arguments: list[str]) -> None:
    text = README.read_text(encoding="utf-8")
    if arguments[:1] == ["--command"]:
        print(commands(text)[int(arguments[1]) - 1], end="")
    else:
        README.write_text(_LISTING.sub(lambda match: run_again(match[1]), text), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
