"""The journal of the last run that wrote files: what they were before, for ``nki-migrate undo``.

It stands in git's own directory (``.git/nki-migrate/last-run.json``) of the repository that holds all files of the
run, where no commit takes it along; for files of no repository below ``$XDG_STATE_HOME/nki-migrate`` (without the
variable ``~/.local/state/nki-migrate``), by the directory that they have in common. Each place has one journal, that of
the last run there. It is on the disk before the first file changes, so that a crash leaves a tree that it takes back.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from .cache import digest_of
from .errors import InputError
from .repository import repository_of

_NAME = "last-run.json"
_SECONDS_KEPT = 90 * 24 * 3600.0
"""Journals below the user's state directory that are older go with the next run; git's directories have one each."""


@dataclass(frozen=True)
class Entry:
    """A file that a run wrote: its real path, what it was (``None``: not there), the digest of what it became."""

    path: str
    before: bytes | None
    after: str

    @property
    def state(self) -> str:
        """``written`` as the run left it, ``old`` as it was before, ``changed`` or ``gone`` since."""
        try:
            with open(self.path, "rb") as file:
                data = file.read()
        except FileNotFoundError:
            return "gone" if self.before is not None else "old"
        return "old" if data == self.before else "written" if digest_of(data) == self.after else "changed"


@dataclass(frozen=True)
class Journal:
    """The files of one run, and when it was (seconds since the epoch)."""

    when: float
    entries: tuple[Entry, ...]

    def concerns(self, path: str) -> bool:
        """Is a file of the run at ``path``, or below it?"""
        real = os.path.realpath(path)
        return any(entry.path == real or entry.path.startswith(real.rstrip(os.sep) + os.sep) for entry in self.entries)


class Keeping:
    """The journal of a run that is about to write: kept before the first file, and made true after the last."""

    def __init__(self, changes: Sequence[tuple[str, bytes | None, bytes]]) -> None:
        """Keep what each file was; ``changes`` are (path, before, after). Raises ``InputError`` if that cannot be."""
        entries = tuple(Entry(os.path.realpath(path), old, digest_of(new)) for path, old, new in changes)
        self._journal = Journal(time.time(), entries)
        self._place = journal_place([entry.path for entry in entries], os.environ)
        try:
            self._previous = self._place.read_bytes() if self._place.exists() else None
            _keep(self._place, _text(self._journal))
        except OSError as error:
            raise _unkept(self._place, error) from error

    def settle(self, written: set[str]) -> None:
        """Only the ``written`` paths are this run's. Where there are none, the run before it is the last again."""
        real = {os.path.realpath(path) for path in written}
        entries = tuple(entry for entry in self._journal.entries if entry.path in real)
        with contextlib.suppress(OSError):  # the whole journal undoes the run as well
            if entries:
                _keep(self._place, _text(Journal(self._journal.when, entries)))
            elif self._previous is not None:
                _keep(self._place, self._previous)
            else:
                forget(self._place)


def journal_place(paths: Sequence[str], environment: Mapping[str, str]) -> Path:
    """Where the journal of a run over the files ``paths`` (real ones) stands."""
    common = os.path.commonpath([os.path.dirname(path) for path in paths])
    repository = repository_of(common)
    if repository is not None and os.access(repository.git, os.W_OK):
        return Path(repository.git, "nki-migrate", _NAME)
    return _state_directory(environment) / f"{digest_of(os.fsencode(common))}.json"


@contextlib.contextmanager
def alone(place: Path) -> Iterator[None]:
    """No other run writes, or undoes, what has its journal at ``place``: one that does is waited for, and said.

    Two runs at once would each take the other's new files for the user's changes, and only one would have a journal.
    The lock is the system's: it goes with the process that has it, however that ends.
    """
    try:
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = open(place.with_suffix(".lock"), "wb", opener=_private)  # noqa: SIM115
    except OSError as error:
        raise _unkept(place, error) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            click.echo("another run of nki-migrate writes here: waiting for it", err=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        except OSError:  # the file system knows no locks
            pass
        yield


def _unkept(place: Path, error: OSError) -> InputError:
    return InputError(
        f"nothing was written, as the journal for undo cannot be: {place}: {error.strerror or error}: "
        "make room for it there, or set XDG_STATE_HOME"
    )


def last_run(path: str) -> tuple[Path, Journal] | None:
    """The journal of the last run that wrote a file at ``path`` or below it, and its place."""
    found = [(journal.when, place, journal) for place, journal in _journals(path) if journal.concerns(path)]
    return max(found)[1:] if found else None


def last_written(paths: Sequence[str]) -> set[str]:
    """Those of ``paths`` that are what the last run made of them."""
    known = {entry.path for path in _directories(paths) for _, journal in _journals(path) for entry in _intact(journal)}
    return {path for path in paths if os.path.realpath(path) in known}


def forget(place: Path) -> None:
    """Remove a journal: its run is undone."""
    place.unlink(missing_ok=True)


def _intact(journal: Journal) -> Iterator[Entry]:
    return (entry for entry in journal.entries if entry.state == "written")


def _directories(paths: Sequence[str]) -> list[str]:
    """One directory for each repository that the paths are in."""
    directories = {os.path.dirname(os.path.realpath(path)) for path in paths}
    roots = {directory: repository_of(directory) for directory in sorted(directories)}
    return list({found.root if found else "": directory for directory, found in roots.items()}.values())


def _journals(path: str) -> Iterator[tuple[Path, Journal]]:
    """The journals of the repositories around ``path``, and those of files of no repository."""
    places = list(_state_directory(os.environ).glob("*.json"))
    repository = repository_of(path)
    while repository is not None:
        places.append(Path(repository.git, "nki-migrate", _NAME))
        above = os.path.dirname(repository.root)
        repository = repository_of(above) if above != repository.root else None
    for place in places:
        if place.exists():
            yield place, _journal(place)


def _journal(place: Path) -> Journal:
    try:
        check, _, body = place.read_bytes().partition(b"\n")
        if digest_of(body).encode() != check:
            raise InputError(f"{place}: the journal is damaged: remove it; git has what was committed")
        document = json.loads(body)
    except OSError as error:
        raise InputError(f"{place}: cannot read the journal: {error.strerror}") from error
    return Journal(document["when"], tuple(map(_entry, document["files"])))


def _entry(known: Mapping[str, Any]) -> Entry:
    before = known["before"]
    return Entry(known["path"], None if before is None else base64.b64decode(before), known["after"])


def _text(journal: Journal) -> bytes:
    files = [
        {
            "path": entry.path,
            "before": None if entry.before is None else base64.b64encode(entry.before).decode(),
            "after": entry.after,
        }
        for entry in journal.entries
    ]
    body = json.dumps({"when": journal.when, "files": files}).encode()
    return digest_of(body).encode() + b"\n" + body


def _keep(place: Path, data: bytes) -> None:
    """Write a journal, and return when the disk has it. Raises ``OSError``; the one before is then as it was."""
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    temporary = place.with_name(f".{place.name}.{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb", opener=_private) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, place)
        sync_directory(str(place.parent))
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    _prune(place)


def _prune(kept: Path) -> None:
    oldest = time.time() - _SECONDS_KEPT
    for place in kept.parent.glob("*.json"):
        with contextlib.suppress(OSError):
            if place != kept and place.stat().st_mtime < oldest:
                place.unlink()


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def sync_directory(directory: str) -> None:
    """Make the renames in a directory durable."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _state_directory(environment: Mapping[str, str]) -> Path:
    """``$XDG_STATE_HOME/nki-migrate``, else ``~/.local/state/nki-migrate``."""
    base = environment.get("XDG_STATE_HOME", "")
    return Path(base if os.path.isabs(base) else Path.home() / ".local" / "state") / "nki-migrate"
