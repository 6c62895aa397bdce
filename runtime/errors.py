"""Errors that a kernel deserves, with the kernel's own file and line."""

from __future__ import annotations

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def is_emulator_file(filename: str) -> bool:
    """Is ``filename`` (of a frame) part of the emulator, or of Python's own import machinery?"""
    return filename.startswith((_HERE, "<frozen"))


def user_location() -> tuple[str, int]:
    """File and line of the innermost running frame that is not part of the emulator."""
    frame = sys._getframe(1)
    while frame is not None:
        filename = frame.f_code.co_filename
        if not is_emulator_file(filename):
            return filename, frame.f_lineno
        frame = frame.f_back  # type: ignore[assignment]
    return "<unknown>", 0


class KernelError(Exception):
    """The kernel breaks a rule of NKI.

    ``code`` is the documented name where there is one (``err_*`` of Beta 1, ``NCC_*`` or ``""`` elsewhere), ``text``
    the documented message, ``file`` and ``line`` the place in the kernel.
    """

    def __init__(self, code: str, text: str, *, file: str | None = None, line: int | None = None) -> None:
        if file is None or line is None:
            file, line = user_location()
        self.code, self.text, self.file, self.line = code, text, file, line
        super().__init__(f"{file}:{line}: {f'{code}: ' if code else ''}{text}")


class NotModelled(Exception):
    """The emulator does not model a construct: the verdict is *undecided*, never a guess."""

    def __init__(self, construct: str) -> None:
        self.construct = construct
        self.file, self.line = user_location()
        super().__init__(f"{self.file}:{self.line}: the emulator does not model {construct}")
