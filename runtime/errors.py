"""Errors that a kernel deserves, with the kernel's own file and line."""

from __future__ import annotations

import os
import sys
from types import CodeType, FrameType
from typing import Any

_LONGEST = 120
"""Characters of a value in a message."""
_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


class _EmulatorFiles(dict[str, bool]):
    def __missing__(self, filename: str) -> bool:
        found = self[filename] = filename.startswith((_HERE, "<frozen"))
        return found


_EMULATOR_FILES = _EmulatorFiles()


def is_emulator_file(filename: str) -> bool:
    """Is ``filename`` (of a frame) part of the emulator, or of Python's own import machinery?"""
    return _EMULATOR_FILES[filename]


def user_frame(frame: FrameType | None) -> FrameType | None:
    """``frame`` or the nearest caller of it that is not part of the emulator."""
    known = _EMULATOR_FILES
    while frame is not None and known[frame.f_code.co_filename]:
        frame = frame.f_back
    return frame


def user_location() -> tuple[str, int]:
    """File and line of the innermost running frame that is not part of the emulator."""
    return location_of(user_frame(sys._getframe(1)))


def location_of(frame: FrameType | None) -> tuple[str, int]:
    """File and line that ``frame`` runs now."""
    if frame is None:
        return "<unknown>", 0
    code = frame.f_code
    key = (id(code), frame.f_lasti)
    known = _LOCATIONS.get(key)
    if known is None:
        known = _LOCATIONS[key] = (code, (code.co_filename, frame.f_lineno))
    return known[1]


_LOCATIONS: dict[tuple[int, int], tuple[CodeType, tuple[str, int]]] = {}
"""By ``id`` of the code, which is kept alive: to find a line, Python walks through a table of the function's."""


def shown(value: Any) -> str:
    """A value as a message shows it, on one line: an array by its data type and shape."""
    if (type(value).__module__, type(value).__name__) == ("numpy", "ndarray"):  # this module loads no numpy
        return f"an array of numpy, {value.dtype} {list(value.shape)}"
    text = " ".join(repr(value).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


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


class SizesDiffer(KernelError):
    """What Beta 2 refuses for its sizes and Beta 1 takes.

    Operands of different sizes, of which Beta 1 repeats those of 1, and a slice of nothing behind the last element.
    """


class TypesDiffer(KernelError):
    """What Beta 2 refuses for its types and Beta 1 takes: a matmul of a float32 tile and another one."""


class NotModelled(Exception):
    """The emulator does not model a construct: the verdict is *undecided*, never a guess."""

    def __init__(self, construct: str) -> None:
        self.construct = construct
        self.file, self.line = user_location()
        super().__init__(f"{self.file}:{self.line}: the emulator does not model {construct}")
