"""``nki-migrate undo``: the last run that wrote files, taken back."""

from __future__ import annotations

import os
import time
from pathlib import Path

import click

from . import output
from .errors import InputError
from .exit_codes import DONE
from .journal import Entry, Journal, alone, forget, last_run
from .store import Change, RunError, held_interrupts, replace_together


def run(path: str, *, force: bool) -> int:
    """Restore what the last run at ``path`` wrote, all of it or nothing, and return the exit code.

    Raises :class:`InputError` where there is no such run, where a file of it was changed since (unless ``force``) and
    where one cannot be written.
    """
    place, _ = _found(path)
    with alone(place):
        return _undone(*_found(path), force=force)  # a run that was waited for is the last one now


def _found(path: str) -> tuple[Path, Journal]:
    found = last_run(path)
    if found is None:
        raise InputError(
            f"{path}: no run of rewrite --write below it is known, or it is undone: there is nothing to undo"
        )
    return found


def _undone(place: Path, journal: Journal, *, force: bool) -> int:
    changed = [entry for entry in journal.entries if entry.state in ("changed", "gone")]
    if changed and not force:
        raise InputError(f"nothing was restored: since the run {_told(changed)}: --force restores them all the same")
    restored = [entry for entry in journal.entries if entry.state != "old"]
    with held_interrupts() as interrupts:
        _restore(restored)
        forget(place)
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(journal.when))
    output.print_lines(map(_line, restored), err=True)
    click.echo(f"{output.plural(len(restored), 'file')} restored, as before the run of {when}", err=True)
    if interrupts.seen:
        raise KeyboardInterrupt
    return DONE


@click.command(
    short_help="Take back the last run of rewrite --write.",
    epilog="Exit codes: 0 restored, 2 nothing was: no run, or files changed since.",
)
@click.argument("path", default=".", metavar="[PATH]")
@click.option("--force", is_flag=True, help="Also restore files that were changed since: what was changed is lost.")
def undo(path: str, force: bool) -> int:
    """Take back the last run of rewrite --write that wrote a file at PATH or below it (without PATH: here).

    All files of that run are restored, those elsewhere, too; or none, if one of them was changed since. A file that
    the run added (nki_support.py) is removed. What they were
    stands in .git/nki-migrate, outside of git below $XDG_STATE_HOME/nki-migrate or ~/.local/state/nki-migrate.
    """
    return run(path, force=force)


def _restore(entries: list[Entry]) -> None:
    made: list[str] = []
    changes: list[Change] = []
    try:
        for entry in entries:
            if entry.state == "gone":
                os.makedirs(os.path.dirname(entry.path), exist_ok=True)
                os.close(os.open(entry.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
                made.append(entry.path)
            with open(entry.path, "rb") as file:
                changes.append(Change(entry.path, file.read(), entry.before))
        replace_together(changes)
    except (RunError, OSError) as error:
        for path in made:
            os.unlink(path)
        where = error.path if isinstance(error, RunError) else error.filename
        what = str(error) if isinstance(error, RunError) else error.strerror
        raise InputError(f"nothing was restored: {_short(where)}: {what}") from error


def _line(entry: Entry) -> str:
    return f"{output.shown(_short(entry.path))}: {'removed' if entry.before is None else 'restored'}"


def _told(entries: list[Entry]) -> str:
    named = [f"{_short(entry.path)} {'is gone' if entry.state == 'gone' else 'was changed'}" for entry in entries]
    return ", ".join(named)


def _short(path: str) -> str:
    """A path as a person in the working directory names it."""
    here = os.path.realpath(os.curdir)
    return os.path.relpath(path, here) if path.startswith(here + os.sep) else path
