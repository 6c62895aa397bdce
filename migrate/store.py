"""Puts new versions of files in place: all of a run, or none of it, and of each file the old one or the new one.

What keeps a file from being written is found before the first one changes, as far as that can be; what each file was is
on the disk by then (``journal``), so that ``undo`` takes a crash back.
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
from .reports import INTERRUPTED, Report, with_another


@dataclass(frozen=True)
class Change:
    """A file, what it has to be, and what it becomes; ``None`` where there is no file."""

    path: str
    before: bytes | None
    after: bytes | None


class RunError(FileError):
    """No file of a run can be written, because of one: ``path``."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(reason)
        self.path = path


class Interrupts:
    """Ctrl-C while files are written: the first is ``seen``, and the files are all old or all new; a second raises."""

    seen = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal."""
        if self.seen:
            raise KeyboardInterrupt
        self.seen = True


def stored(reports: list[Report]) -> tuple[list[Report], bool]:
    """Write what the reports changed, all of it or nothing; the reports on that, and whether Ctrl-C came meanwhile.

    Raises ``InputError``, with nothing written, where the journal cannot be kept.
    """
    changed = [report for report in reports if report.status == "changed" and report.path != STDIN]
    if not changed:
        return reports, False
    place = journal_place([os.path.realpath(report.path) for report in changed], os.environ)
    with alone(place), held_interrupts() as interrupts:
        became = {report.path: report for report in _stored(changed, interrupts)}
    return [became.get(report.path, report) for report in reports], interrupts.seen


def _stored(changed: Sequence[Report], interrupts: Interrupts) -> list[Report]:
    """The reports on files that are to be written, when they are, or are not."""
    keeping: Keeping | None = None
    found = list(changed)
    try:
        # What is in place already was written by another run, and stands in its journal.
        planned = (Change(r.path, None if r.is_added else r.before, r.after) for r in changed)
        changes = [change for change in planned if not _holds(change.path, change.after)]
        for change in changes:
            _status(change)
        keeping = Keeping([(each.path, each.before, each.after or b"") for each in changes]) if changes else None
        replace_together(changes, lambda: interrupts.seen)
    except RunError as error:
        rest = with_another(error.path)
        found = [_unless_in_place(each, str(error) if each.path == error.path else rest) for each in changed]
    except KeyboardInterrupt:
        interrupts.seen = True
        found = [_unless_in_place(report, INTERRUPTED) for report in changed]
    if keeping is not None:
        keeping.settle({report.path for report in found if report.status == "changed"})
    return found


def replace_together(changes: Sequence[Change], is_stopped: Callable[[], bool] = lambda: False) -> None:
    """Put every change in place, or none; modes and owners are kept, and a symbolic link stays one.

    The new contents are on the disk, beside the old ones, before the first of them takes its place. Until then the run
    can be stopped, which raises ``KeyboardInterrupt``. Raises ``RunError`` when a file is read-only, was changed by
    someone else in the meantime, or cannot be written; all are then as they were.
    """
    with contextlib.ExitStack() as stack:
        ready = [(stack.enter_context(_temporary(change)), change) for change in _until(is_stopped, changes)]
        try:
            for temporary, change in ready:
                _put(temporary, change)
        except BaseException:
            if all(_holds(change.path, change.after) for change in changes):
                raise
            _put_back(changes)
            raise
    with contextlib.suppress(OSError):  # the new files are in place, even if a crash of the machine may undo it
        for directory in {os.path.dirname(os.path.realpath(change.path)) for change in changes}:
            sync_directory(directory)


def _until(is_stopped: Callable[[], bool], changes: Sequence[Change]) -> Iterator[Change]:
    """The changes. Raises ``KeyboardInterrupt`` once the run is stopped, behind the last of them, too."""
    for change in changes:
        yield change
        if is_stopped():
            raise KeyboardInterrupt


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


def _unless_in_place(report: Report, reason: str) -> Report:
    """A report on a file that may be written nevertheless."""
    return report if report.status != "changed" or _holds(report.path, report.after) else report.failed(reason)


def _status(change: Change) -> os.stat_result | None:
    """The mode and owner of a file that is to be replaced; ``None`` for one that is to be made."""
    target = os.path.realpath(change.path)
    if change.before is None:
        if os.path.lexists(change.path):
            raise RunError(change.path, "not written: there is a file of this name by now: run again")
        return None
    try:
        if not os.access(target, os.W_OK) and os.path.exists(target):
            raise RunError(change.path, "cannot write: the file is read-only: make it writable (chmod u+w)")
        with open(target, "rb") as file:
            if file.read() != change.before:
                raise RunError(change.path, "not written: the file changed while it was being rewritten: run again")
            return os.fstat(file.fileno())
    except OSError as error:
        raise RunError(change.path, f"cannot write: {error.strerror or error}") from error


@contextlib.contextmanager
def _temporary(change: Change) -> Iterator[str]:
    """The new content in a file beside the old one; it is gone if what is done with it fails. None: no name."""
    status = _status(change)
    if change.after is None:
        yield ""
        return
    directory, name = os.path.split(os.path.realpath(change.path))
    # The name is known before there is such a file: whatever interrupts its making, it is taken away again.
    temporary = os.path.join(directory, f".{name[:100]}.{secrets.token_hex(8)}.tmp")
    try:
        try:
            _fill(temporary, change.after, status)
        except OSError as error:
            raise RunError(change.path, f"cannot write: {error.strerror or error}") from error
        yield temporary
    except BaseException:
        with contextlib.suppress(OSError):  # it is the target already, or was never made
            os.unlink(temporary)
        raise


def _fill(temporary: str, data: bytes, status: os.stat_result | None) -> None:
    with open(temporary, "xb", opener=_private if status is not None else None) as file:
        file.write(data)
        file.flush()
        if status is None:  # a new file has the mode that the user's others get
            os.fsync(file.fileno())
            return
        with contextlib.suppress(PermissionError):  # only root may give a file away
            os.fchown(file.fileno(), status.st_uid, status.st_gid)
        os.fchmod(file.fileno(), stat.S_IMODE(status.st_mode))
        os.fsync(file.fileno())


def _put(temporary: str, change: Change) -> None:
    """Put the new content, which is in ``temporary``, in place; or take the file away."""
    target = os.path.realpath(change.path)
    try:
        if change.after is None:
            os.unlink(target)
        else:
            os.replace(temporary, target)
    except OSError as error:
        if not _holds(change.path, change.after):
            raise RunError(change.path, f"cannot write: {error.strerror or error}") from error


def _put_back(changes: Sequence[Change]) -> None:
    """Undo those changes that are in place, as something keeps the others from it."""
    for change in changes:
        if _holds(change.path, change.after):
            with contextlib.suppress(RunError):  # the report says that it is written; ``undo`` restores it
                replace_together([Change(change.path, change.after, change.before)])


def _holds(path: str, data: bytes | None) -> bool:
    if data is None:
        return not os.path.lexists(path)
    try:
        with open(path, "rb") as file:
            return file.read() == data
    except OSError:
        return False


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
