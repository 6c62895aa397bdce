"""Puts a new version of a file in place: the old one or the new one is there at any time, never a part."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile

from .errors import FileError


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
        raise FileError(f"cannot write: {error.strerror or error}") from error


def _rename_into_place(target: str, data: bytes, status: os.stat_result) -> None:
    directory, name = os.path.split(target)
    descriptor, temporary = tempfile.mkstemp(prefix=f".{name[:100]}.", suffix=".tmp", dir=directory)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            with contextlib.suppress(PermissionError):  # only root may give a file away
                os.fchown(file.fileno(), status.st_uid, status.st_gid)
            os.fchmod(file.fileno(), stat.S_IMODE(status.st_mode))
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise
    _sync_directory(directory)


def _sync_directory(directory: str) -> None:
    """Make the rename itself durable."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
