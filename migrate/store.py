"""Puts new versions of files in place: the old one or the new one is there at any time, never a part.

Files that import each other are a group: all of them are written, or none is. What keeps one of a group from being
written is found before the first file of the run changes, as far as that can be; what each file was is on the disk by
then (``journal``).
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import stat
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import FrameType

from .discover import STDIN
from .errors import FileError
from .journal import Keeping, alone, journal_place, sync_directory
from .reports import Report

INTERRUPTED = "not written: interrupted: run again"


@dataclass(frozen=True)
class Change:
    """A file, what it has to be, and what it becomes."""

    path: str
    before: bytes
    after: bytes


class GroupError(FileError):
    """None of some files can be written, because of one: ``path``."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(reason)
        self.path = path


class Interrupts:
    """Ctrl-C while files are written: the first is ``seen``, and the group at hand is finished; a second one raises."""

    seen = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal."""
        if self.seen:
            raise KeyboardInterrupt
        self.seen = True


def stored(reports: list[Report]) -> tuple[list[Report], bool]:
    """Write what the reports changed; the reports on what is written now, and whether Ctrl-C kept the rest from it.

    Raises ``InputError``, with nothing written, where the journal cannot be kept.
    """
    groups = _groups(reports)
    paths = [os.path.realpath(change.path) for group in groups for change in _changes(group)]
    with alone(journal_place(paths, os.environ)) if paths else contextlib.nullcontext():
        return _stored(reports, groups)


def _stored(reports: list[Report], groups: list[list[Report]]) -> tuple[list[Report], bool]:
    """Write the groups, where no other run does."""
    keeping: Keeping | None = None
    done = 0
    with held_interrupts() as interrupts:
        try:
            groups = [_attempted(group, require_writable) for group in groups]
            planned = [change for group in groups for change in _changes(group)]
            if changes := [each for each in planned if not _holds(each.path, each.after)]:  # else another run wrote it
                keeping = Keeping([(change.path, change.before, change.after) for change in changes])
            for group in list(groups):
                if interrupts.seen:
                    break
                groups[done] = _attempted(group, replace_together)
                done += 1
        except KeyboardInterrupt:
            interrupts.seen = True
        # What an interrupt stopped may be in place already: the file tells.
        rest = [[_unless_in_place(report, INTERRUPTED) for report in group] for group in groups[done:]]
        became = {report.path: report for group in [*groups[:done], *rest] for report in group}
        if keeping is not None:
            keeping.settle({path for path, report in became.items() if report.status == "changed"})
    return [became.get(report.path, report) for report in reports], interrupts.seen


def require_writable(changes: Sequence[Change]) -> None:
    """Raise ``GroupError`` if a file is known not to be writable, or is not what it has to be."""
    for change in changes:
        _status(change)


def replace_together(changes: Sequence[Change]) -> None:
    """Put every change in place, or none; modes and owners are kept, and a symbolic link stays one.

    Raises ``GroupError`` when a file is read-only, was changed by someone else in the meantime, or cannot be written;
    all are then as they were.
    """
    with contextlib.ExitStack() as stack:
        ready = [(stack.enter_context(_temporary(change)), change) for change in changes]
        try:
            for temporary, change in ready:
                _rename(temporary, change.path, change.after)
        except BaseException:
            if all(_holds(change.path, change.after) for change in changes):
                raise
            _put_back(changes)
            raise
    with contextlib.suppress(OSError):  # the new files are in place, even if a crash of the machine may undo it
        for directory in {os.path.dirname(os.path.realpath(change.path)) for change in changes}:
            sync_directory(directory)


@contextlib.contextmanager
def held_interrupts() -> Iterator[Interrupts]:
    """The interrupts that arrive from here on, where Python would raise them."""
    interrupts = Interrupts()
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield interrupts
        return
    previous = signal.signal(signal.SIGINT, interrupts)
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, previous)


def _groups(reports: Sequence[Report]) -> list[list[Report]]:
    """The reports on files that are to be written, those together that have to be."""
    groups: dict[str, list[Report]] = {}
    for report in reports:
        if report.status == "changed" and report.path != STDIN:
            groups.setdefault(report.group or report.path, []).append(report)
    return list(groups.values())


def _changes(group: Sequence[Report]) -> list[Change]:
    return [Change(report.path, report.before, report.after) for report in group if report.status == "changed"]


def _attempted(group: list[Report], action: Callable[[Sequence[Change]], None]) -> list[Report]:
    """The reports on a group, failed where the ``action`` on its changes fails."""
    try:
        action(_changes(group))
    except GroupError as error:
        with_it = f"not written: it goes with {error.path}, which is not ({error})"
        return [_unless_in_place(r, str(error) if r.path == error.path else with_it) for r in group]
    return group


def _unless_in_place(report: Report, reason: str) -> Report:
    """A report on a file that may be written nevertheless."""
    return report if report.status != "changed" or _holds(report.path, report.after) else report.failed(reason)


def _status(change: Change) -> os.stat_result:
    """The mode and owner of a file that is to be replaced."""
    target = os.path.realpath(change.path)
    try:
        if not os.access(target, os.W_OK) and os.path.exists(target):
            raise GroupError(change.path, "cannot write: the file is read-only: make it writable (chmod u+w)")
        with open(target, "rb") as file:
            if file.read() != change.before:
                raise GroupError(change.path, "not written: the file changed while it was being rewritten: run again")
            return os.fstat(file.fileno())
    except OSError as error:
        raise GroupError(change.path, f"cannot write: {error.strerror or error}") from error


@contextlib.contextmanager
def _temporary(change: Change) -> Iterator[str]:
    """The new content in a file beside the old one; it is gone if what is done with it fails."""
    status = _status(change)
    directory, name = os.path.split(os.path.realpath(change.path))
    # The name is known before there is such a file: whatever interrupts its making, it is taken away again.
    temporary = os.path.join(directory, f".{name[:100]}.{secrets.token_hex(8)}.tmp")
    try:
        try:
            _fill(temporary, change.after, status)
        except OSError as error:
            raise GroupError(change.path, f"cannot write: {error.strerror or error}") from error
        yield temporary
    except BaseException:
        with contextlib.suppress(OSError):  # it is the target already, or was never made
            os.unlink(temporary)
        raise


def _fill(temporary: str, data: bytes, status: os.stat_result) -> None:
    with open(temporary, "xb", opener=_private) as file:
        file.write(data)
        file.flush()
        with contextlib.suppress(PermissionError):  # only root may give a file away
            os.fchown(file.fileno(), status.st_uid, status.st_gid)
        os.fchmod(file.fileno(), stat.S_IMODE(status.st_mode))
        os.fsync(file.fileno())


def _rename(temporary: str, path: str, after: bytes) -> None:
    try:
        os.replace(temporary, os.path.realpath(path))
    except OSError as error:
        if not _holds(path, after):
            raise GroupError(path, f"cannot write: {error.strerror or error}") from error


def _put_back(changes: Sequence[Change]) -> None:
    """Undo those changes that are in place, as something keeps the others from it."""
    for change in changes:
        if _holds(change.path, change.after):
            with contextlib.suppress(GroupError):  # the report says that it is written; ``undo`` restores it
                replace_together([Change(change.path, change.after, change.before)])


def _holds(path: str, data: bytes) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read() == data
    except OSError:
        return False


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
