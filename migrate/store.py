"""Puts new versions of files in place: the old one or the new one is there at any time, never a part."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import stat
import threading
from collections.abc import Iterator
from types import FrameType

from .discover import STDIN
from .errors import FileError
from .reports import Report

INTERRUPTED = "not written: interrupted: run again"


class Interrupts:
    """Ctrl-C while files are written: the first is ``seen``, and the file at hand is finished; a second one raises."""

    seen = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal."""
        if self.seen:
            raise KeyboardInterrupt
        self.seen = True


def stored(reports: list[Report]) -> tuple[list[Report], bool]:
    """Write what the reports changed; the reports on what is written now, and whether Ctrl-C kept the rest from it."""
    done: list[Report] = []
    with _held_interrupts() as interrupts:
        try:
            for report in reports:
                if interrupts.seen:
                    break
                done.append(_written(report))
        except KeyboardInterrupt:
            interrupts.seen = True
        rest = reports[len(done) :]
        # What an interrupt stopped may be in place already: the file tells.
        return done + [_unless_in_place(report) for report in rest], interrupts.seen


def replace(path: str, before: bytes, after: bytes) -> None:
    """Replace the content ``before`` of a file by ``after``, keeping its mode and owner; a symbolic link stays one.

    Raises ``FileError`` when the file is read-only, was changed by someone else in the meantime, or cannot be written;
    it is then as it was.
    """
    target = os.path.realpath(path)
    try:
        if not os.access(target, os.W_OK):
            raise FileError("cannot write: the file is read-only: make it writable (chmod u+w)")
        with open(target, "rb") as file:
            if file.read() != before:
                raise FileError("not written: the file changed while it was being rewritten: run again")
            status = os.fstat(file.fileno())
        _rename_into_place(target, after, status)
    except OSError as error:
        if not _holds(target, after):
            raise FileError(f"cannot write: {error.strerror or error}") from error


@contextlib.contextmanager
def _held_interrupts() -> Iterator[Interrupts]:
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


def _is_to_write(report: Report) -> bool:
    return report.status == "changed" and report.path != STDIN


def _written(report: Report) -> Report:
    """The report on a file that was written where it changes."""
    if not _is_to_write(report):
        return report
    try:
        replace(report.path, report.before, report.after)
    except FileError as error:
        return report.failed(str(error))
    return report


def _unless_in_place(report: Report) -> Report:
    """A report on a file that an interrupt may have come before."""
    return report if not _is_to_write(report) or _holds(report.path, report.after) else report.failed(INTERRUPTED)


def _holds(path: str, data: bytes) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read() == data
    except OSError:
        return False


def _rename_into_place(target: str, data: bytes, status: os.stat_result) -> None:
    directory, name = os.path.split(target)
    # The name is known before there is such a file: whatever interrupts its making, it is taken away again.
    temporary = os.path.join(directory, f".{name[:100]}.{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb", opener=_private) as file:
            file.write(data)
            file.flush()
            with contextlib.suppress(PermissionError):  # only root may give a file away
                os.fchown(file.fileno(), status.st_uid, status.st_gid)
            os.fchmod(file.fileno(), stat.S_IMODE(status.st_mode))
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):  # it is the target already, or was never made
            os.unlink(temporary)
        raise
    with contextlib.suppress(OSError):  # the new file is in place, even if a crash of the machine may undo it
        _sync_directory(directory)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _sync_directory(directory: str) -> None:
    """Make the rename itself durable."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
