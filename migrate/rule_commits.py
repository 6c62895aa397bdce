"""``rewrite --commit-per-rule``: the run as commits of git, one for each rule: a review reads one rule at a time.

The rules are applied in the order of their codes, each on top of those before it: a commit is what one more rule
changes. A rule that cannot go without one behind it (a file fails without that, does not parse, or would be changed
beyond what the whole run changes) shares a commit with it. The last commit leaves the tree that ``--write`` leaves.
"""

from __future__ import annotations

import ast
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from nki_migrate.runtime.cells import is_notebook

from .discover import STDIN
from .errors import FileError, InputError
from .explain import described
from .reports import Report, parsed
from .repository import complaint, repository_of, run_git

Selected = Callable[[frozenset[str]], Sequence[Report]]
"""The reports of a run with these rules alone."""


@dataclass(frozen=True)
class Step:
    """One commit: the rules of it, and what the files are behind it."""

    codes: tuple[str, ...]
    contents: dict[str, bytes]


def steps(reports: Sequence[Report], selected: Selected) -> list[Step]:
    """What to commit, in order; ``reports`` are of the whole run."""
    changed = [report for report in reports if report.status == "changed" and report.path != STDIN]
    codes = sorted({code for report in changed for code in report.applied})
    found: list[Step] = []
    waiting: list[str] = []
    now = {report.path: report.before for report in changed if not report.is_added}
    for count, code in enumerate(codes, 1):
        waiting.append(code)
        is_last = count == len(codes)
        contents = _whole(changed) if is_last else _contents(changed, selected(frozenset(codes[:count])))
        if contents is None or (contents == now and not is_last):
            continue
        found.append(Step(tuple(waiting), contents))
        waiting, now = [], contents
    return found


def _whole(changed: Sequence[Report]) -> dict[str, bytes]:
    return {report.path: report.after for report in changed}


def _contents(changed: Sequence[Report], reports: Sequence[Report]) -> dict[str, bytes] | None:
    """What the files are with a part of the rules; ``None`` where that is no state to commit."""
    partly = {report.path: report for report in reports}
    contents = {report.path: partly[report.path].after for report in changed if report.path in partly}
    is_beyond = any(r.status == "changed" and r.path not in contents for r in reports)
    is_failed = any(partly[path].status == "failed" for path in contents)
    return None if is_beyond or is_failed or not all(map(_parses, contents.items())) else contents


def _parses(item: tuple[str, bytes]) -> bool:
    path, data = item
    try:
        return is_notebook(path) or isinstance(parsed(data)[1], ast.Module)
    except FileError:
        return False


def repository_for(paths: Sequence[str]) -> str:
    """The root of the repository to commit to. Raises ``InputError`` where commits cannot be made there."""
    roots = {found.root if (found := repository_of(os.path.dirname(os.path.realpath(p)))) else "" for p in paths}
    if "" in roots:
        raise InputError("--commit-per-rule: nothing was written: not all files are in a git repository")
    if len(roots) > 1:
        raise InputError(f"--commit-per-rule: nothing was written: several repositories: {', '.join(sorted(roots))}")
    (root,) = roots
    if run_git(root, "diff", "--cached", "--quiet").returncode:
        raise InputError("--commit-per-rule: nothing was written: the index has changes: commit or unstage them first")
    for what, names in (("a merge", "MERGE_HEAD"), ("a rebase", "REBASE_HEAD")):
        if not run_git(root, "rev-parse", "--verify", "--quiet", names).returncode:
            raise InputError(f"--commit-per-rule: nothing was written: {what} is under way: end it first")
    if run_git(root, "var", "GIT_AUTHOR_IDENT").returncode:
        raise InputError("--commit-per-rule: nothing was written: git knows no author: set user.name and user.email")
    return root


def commit(root: str, planned: Sequence[Step]) -> Iterator[str]:
    """Commit the steps on top of HEAD, and say of each what it is. Raises ``InputError`` where git refuses.

    The working tree has what the last step has; the commits are made beside it, and HEAD moves once, at the end.
    """
    git = _Git(root)
    head = git("rev-parse", "HEAD").decode().strip()
    parent, said = head, []
    with tempfile.TemporaryDirectory(prefix="nki-migrate-") as directory:
        git.index = os.path.join(directory, "index")
        git("read-tree", head)
        tree = git("write-tree")
        for step in planned:
            for path, data in step.contents.items():
                git.stage(path, data)
            if tree == (tree := git("write-tree")):
                continue
            message = _message(step)
            parent = git("commit-tree", tree.decode().strip(), "-p", parent, stdin=message.encode()).decode().strip()
            said.append(f"committed {parent[:10]} {message.splitlines()[0]}")
    git.index = ""
    git("update-ref", "-m", "nki-migrate rewrite --commit-per-rule", "HEAD", parent, head)
    git("add", "--", *sorted({os.path.realpath(path) for step in planned for path in step.contents}))
    yield from said


_NEW = "100644"
"""The mode of a file that the run adds."""


class _Git:
    """git in one working tree; ``index`` is the file that stands for its index, if not its own."""

    def __init__(self, root: str) -> None:
        self.root, self.index = root, ""

    def __call__(self, *arguments: str, stdin: bytes = b"") -> bytes:
        options = ("-c", "core.hooksPath=/dev/null")
        environment = os.environ | ({"GIT_INDEX_FILE": self.index} if self.index else {})
        command = ["git", "-C", self.root, *options, *arguments]
        done = subprocess.run(command, input=stdin, capture_output=True, check=False, env=environment)
        if done.returncode:
            what = f"the files are written, and nothing is committed: git {arguments[0]}: {complaint(done)}"
            raise InputError(f"--commit-per-rule: {what}")
        return done.stdout

    def stage(self, path: str, data: bytes) -> None:
        name = os.path.relpath(os.path.realpath(path), self.root)
        mode = self("ls-files", "-s", "-z", "--", name).split(b" ", 1)[0].decode() or _NEW
        blob = self("hash-object", "-w", "--stdin", f"--path={name}", stdin=data).decode().strip()
        self("update-index", "--add", "--cacheinfo", f"{mode},{blob},{name}")


def _message(step: Step) -> str:
    """``NKI001 name: what it does``; of several rules, all of them, and why they are together."""
    rules = []
    for code in step.codes:
        found = described(code)
        rules.append(f"{code} {found.name}: {found.summary}" if found else code)
    if len(rules) == 1:
        return f"nki-migrate {rules[0]}\n"
    first = f"nki-migrate {step.codes[0]} to {step.codes[-1]}: {len(rules)} rules that go together"
    why = "None of these leaves files that stand without those behind it."
    return "\n".join((first, "", why, "", *(f"* {rule}" for rule in rules), ""))
