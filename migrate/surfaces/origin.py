"""Where a report comes from: its command line, its date, and the revisions of the files."""

from __future__ import annotations

import shlex
import subprocess
import sys
from dataclasses import dataclass
from datetime import datetime, timezone

import click

_SECONDS = 20
"""What git may take; a report does not wait for longer."""


@dataclass(frozen=True)
class Origin:
    """One run of the tool: the command line, the date (UTC), and what git calls the files, before and now."""

    command: str
    date: str
    revision: str
    base: str = ""


def origin(base: str | None = None) -> Origin:
    """The run at hand; ``base`` is the git revision that it compares with."""
    context = click.get_current_context(silent=True)
    given = context.find_root().obj if context else None
    arguments = sys.argv[1:] if given is None else given
    now = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    return Origin(shlex.join(["nki-migrate", *arguments]), now, _head(), _named(base) if base else "")


def _head() -> str:
    """The commit of the working tree, and whether files differ from it."""
    commit = _git("rev-parse", "--short=12", "HEAD")
    if not commit:
        return "no commit of git"
    changed = _git("status", "--porcelain", "--untracked-files=no")
    return f"{commit}, with changes that are not committed" if changed else commit


def _named(revision: str) -> str:
    commit = _git("rev-parse", "--short=12", "--verify", "--end-of-options", f"{revision}^{{commit}}")
    return f"{revision} ({commit})" if commit else revision


def _git(*arguments: str) -> str:
    """What git says here; nothing where it cannot."""
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("utf-8", "replace").strip() if done.returncode == 0 else ""
