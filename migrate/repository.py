"""The git repository that a file is in, and what git says of it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .errors import InputError


@dataclass(frozen=True)
class Repository:
    """A working tree: its directory, and git's own directory for it (a linked worktree and a submodule have theirs)."""

    root: str
    git: str


def repository_of(path: str) -> Repository | None:
    """The innermost repository that holds a file or directory; ``None`` outside of any. git itself is not asked."""
    directory = os.path.realpath(path)
    while True:
        git = _git_directory(os.path.join(directory, ".git"))
        if git is not None:
            return Repository(directory, git)
        parent = os.path.dirname(directory)
        if parent == directory:
            return None
        directory = parent


def uncommitted(paths: Iterable[str]) -> list[str]:
    """Those of the files that differ from the last commit of their repository, or that it does not have.

    Files outside of a repository and files that git ignores are none of them; without git there are none. Raises
    :class:`InputError` where git does not answer.
    """
    paths = list(paths)
    if shutil.which("git") is None:
        return []
    of_directories = {directory: repository_of(directory) for directory in {_directory(path) for path in paths}}
    differing = {name for root in {each.root for each in of_directories.values() if each} for name in _differing(root)}
    return [path for path in paths if os.path.realpath(path) in differing]


def run_git(directory: str, *arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["git", "-C", directory, *arguments], input=stdin, capture_output=True, check=False)


def complaint(done: subprocess.CompletedProcess[bytes]) -> str:
    """What git says of a command that failed."""
    return done.stderr.decode(errors="replace").strip().removeprefix("fatal: ") or f"exit code {done.returncode}"


def _directory(path: str) -> str:
    return os.path.dirname(os.path.realpath(path))


def _git_directory(entry: str) -> str | None:
    """git's directory, given the ``.git`` of a working tree: a directory, or a file that names one."""
    if os.path.isdir(entry):
        return entry
    try:
        with open(entry, encoding="utf-8", errors="surrogateescape") as file:
            label, _, place = file.read().partition("gitdir:")
    except OSError:
        return None
    found = os.path.normpath(os.path.join(os.path.dirname(entry), place.strip()))
    return found if place and not label and os.path.isdir(found) else None


def _differing(root: str) -> Iterator[str]:
    # --no-optional-locks: a look at the tree must not be in the way of a git that runs at the same time.
    done = run_git(
        root, "--no-optional-locks", "status", "--porcelain", "-z", "--no-renames", "--untracked-files=all",
        "--ignore-submodules=all",
    )  # fmt: skip
    if done.returncode:
        if b"not a git repository" in done.stderr:
            return
        raise InputError(
            f"{root}: git cannot tell which files have uncommitted changes ({complaint(done)}): mend that, or pass "
            "--allow-dirty"
        )
    for entry in os.fsdecode(done.stdout).split("\0"):
        if entry:  # two letters of status, a space, the name
            yield os.path.join(root, entry[3:])
