"""Files as they were at a git revision: a copy of the whole tree, made when the first file of it is needed."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from nki_migrate.runtime.versions import Version

from .errors import InputError
from .judging import Pair
from .planning import may_have_kernels, python_files
from .repository import complaint, run_git
from .sides import Side

_LARGE = 64 << 20
"""Files beyond this many bytes are left out of a copy: they are data, and a kernel that needs them says so."""


@dataclass(frozen=True)
class Revision:
    """A commit of the repository at ``tree``: ``name`` is the user's, ``copy`` the directory for its files."""

    name: str
    commit: str
    tree: str
    copy: str
    files: tuple[tuple[str, str, str, int], ...] = field(repr=False)

    @property
    def side(self) -> Side:
        version = Version(tree=self.tree, copy=self.copy)
        return Side(version, self.name, self.commit, self.check_out)

    def has(self, path: str) -> bool:
        name = os.path.relpath(os.path.realpath(path), self.tree)
        return any(file == name for file, _, _, _ in self.files)

    def below(self, paths: Sequence[str]) -> Iterator[str]:
        """Python files of the revision that are, or are in, one of ``paths``; as the user would name them."""
        for name, _, _, _ in self.files:
            absolute = os.path.join(self.tree, name)
            for path in paths:
                inside = os.path.relpath(absolute, os.path.realpath(path))
                if name.endswith(".py") and inside != os.pardir and not inside.startswith(os.pardir + os.sep):
                    yield os.path.normpath(os.path.join(path, inside))
                    break

    def check_out(self) -> None:
        """Write the files of the revision to the copy, unless they are there."""
        done = Path(f"{self.copy}.done")
        if done.exists():
            return
        chosen = [(name, mode, blob) for name, mode, blob, size in self.files if size <= _LARGE]
        contents = _blobs(self.tree, [blob for _, _, blob in chosen])
        for (name, mode, _), content in zip(chosen, contents, strict=True):
            target = Path(self.copy) / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if mode == "120000":
                target.symlink_to(os.fsdecode(content))
            else:
                target.write_bytes(content)
        done.touch()


@contextmanager
def revision_of(name: str, paths: Sequence[str]) -> Iterator[Revision]:
    """The revision ``name`` of the repository that holds ``paths``; its copy is gone afterwards.

    Raises :class:`InputError` without git, outside of a repository, for paths of two, and for an unknown revision.
    """
    if shutil.which("git") is None:
        raise InputError("--base needs git, which is not installed or not on PATH")
    for path in paths:
        if not os.path.lexists(path):
            raise InputError(f"{path}: no such file or directory")
    trees = {_tree_of(path) for path in paths}
    if len(trees) > 1:
        raise InputError(f"--base takes paths of one repository, not of {' and '.join(sorted(trees))}")
    tree = trees.pop()
    found = run_git(tree, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    if found.returncode:
        raise InputError(f"--base {name}: the repository {tree} has no such revision (in a shallow clone, fetch it)")
    commit = found.stdout.decode().strip()
    with tempfile.TemporaryDirectory(prefix="nki-migrate-") as directory:
        yield Revision(name, commit, tree, os.path.realpath(directory) + "/tree", tuple(_listed(tree, commit)))


def base_pairs(
    revision: Revision, paths: Sequence[str], excludes: Callable[[str], bool] | None = None
) -> tuple[list[Pair], list[str]]:
    """Each file of ``paths`` with itself as it was, and notes on files that only one side has.

    A file that was renamed is compared under its old name; what ``excludes`` names is left out. Raises
    :class:`InputError` for a path that names a file which was not there.
    """
    side, pairs, notes = revision.side, list[Pair](), list[str]()
    renamed = _renamed(revision)
    seen = set()
    for path in python_files(paths, excludes):
        name = os.path.relpath(os.path.realpath(path), revision.tree)
        old = path if revision.has(path) else _beside(path, name, renamed.get(name, ""))
        seen.add(os.path.realpath(old))
        if not may_have_kernels(path):
            continue
        if revision.has(old):
            pairs.append(Pair(old, path, old=side))
        elif path in paths:
            raise InputError(f"{path}: not in revision {revision.name}: there is nothing to compare it with")
        else:
            notes.append(f"{path}: not in revision {revision.name}, compared with nothing")
    gone = [path for path in revision.below(paths) if os.path.realpath(path) not in seen and not os.path.exists(path)]
    notes += [
        f"{path}: only in revision {revision.name}, compared with nothing"
        for path in gone
        if excludes is None or not excludes(path)
    ]
    return pairs, notes


def _beside(path: str, name: str, old: str) -> str:
    """The user's name of the file ``old``, given that of the file ``name`` (both from the root of the repository)."""
    return (
        os.path.normpath(os.path.join(os.path.dirname(path), os.path.relpath(old, os.path.dirname(name))))
        if old
        else path
    )


def _renamed(revision: Revision) -> dict[str, str]:
    """New name to old name of the files that git takes for renamed since the revision."""
    done = run_git(revision.tree, "diff", "-z", "--name-status", "--diff-filter=R", "-M", revision.commit)
    if done.returncode:
        return {}
    parts = os.fsdecode(done.stdout).split("\0")
    return {parts[n + 2]: parts[n + 1] for n in range(0, len(parts) - 2, 3)}


def _tree_of(path: str) -> str:
    real = os.path.realpath(path)
    found = run_git(real if os.path.isdir(real) else os.path.dirname(real), "rev-parse", "--show-toplevel")
    if found.returncode:
        raise InputError(f"{path}: --base needs a git repository: {complaint(found)}")
    return os.path.realpath(os.fsdecode(found.stdout).rstrip("\n"))


def _listed(tree: str, commit: str) -> Iterator[tuple[str, str, str, int]]:
    """(name, mode, blob, bytes) of the files of a commit. Submodules are not followed."""
    done = run_git(tree, "ls-tree", "-r", "-l", "-z", "--full-tree", commit)
    if done.returncode:
        raise InputError(f"git cannot list revision {commit}: {complaint(done)}")
    for entry in os.fsdecode(done.stdout).split("\0"):
        facts, _, name = entry.partition("\t")
        if facts:
            mode, kind, blob, size = facts.split()
            if kind == "blob":
                yield name, mode, blob, int(size)


def _blobs(tree: str, names: list[str]) -> Iterator[bytes]:
    done = run_git(tree, "cat-file", "--batch", stdin="".join(f"{name}\n" for name in names).encode())
    if done.returncode:
        raise InputError(f"git cannot read the files of the revision: {complaint(done)}")
    at = 0
    for name in names:
        end = done.stdout.index(b"\n", at)
        header = done.stdout[at:end].split()
        if len(header) != 3:
            raise InputError(f"git has no content for {name}: fetch it first (a partial clone?)")
        size = int(header[2])
        yield done.stdout[end + 1 : end + 1 + size]
        at = end + 2 + size
