"""The listings of the README and of docs/: what their ``console`` blocks show is what the commands print.

``python tests/readme.py`` runs them and writes the documents anew (or only those that it is given); with
``--command N`` it prints the N-th ``sh`` block of the README. ``test_cli_readme.py`` checks the listings, ``.ci/run``
runs the ``sh`` blocks.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
DOCUMENTS = (README, *sorted((ROOT / "docs").glob("*.md")))

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


def rewritten(document: Path) -> None:
    """The document, with its listings as they are now."""
    text = document.read_text(encoding="utf-8")
    document.write_text(_LISTING.sub(lambda match: run_again(match[1]), text), encoding="utf-8")


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["--command"]:
        print(commands(README.read_text(encoding="utf-8"))[int(arguments[1]) - 1], end="")
        return
    for document in map(Path, arguments or DOCUMENTS):
        rewritten(document)


if __name__ == "__main__":
    main(sys.argv[1:])
