"""What became of each file, and the contents of the files that concern a command."""

from __future__ import annotations

import ast
import re
import sys
import traceback
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from .discover import STDIN, Found
from .errors import FileError
from .text import Text, decoded

if TYPE_CHECKING:
    from nki_migrate.codemods.model import Asserted, Decision, Finding, Moved

Status = Literal["changed", "unchanged", "skipped", "failed"]
STATUSES: tuple[Status, ...] = ("changed", "unchanged", "skipped", "failed")


_IMPORTS_BETA1 = re.compile(rb"^[ \t]*(import|from)[ \t]+neuronxcc\b", re.MULTILINE)

EMPTY = "empty"
NOTEBOOK = "notebooks are not supported: export it (jupyter nbconvert --to script)"


@dataclass(frozen=True)
class Report:
    """What became of one file.

    ``before`` and ``after`` are its bytes (``after`` differs only when the status is ``changed``), ``applied`` counts
    the rewrites of each rule, ``reason`` says why a file was skipped or failed, ``moves`` where its declarations went,
    ``inexact`` how many ULP each rule that is not exact declares, ``decisions`` what was chosen for which tensor,
    ``asserted`` what its kernels take for true from then on, ``ignored`` the findings that comments silence,
    ``seconds`` how long it took (of files that are rewritten together, each has its share), ``group`` is the same for
    files that import each other, which are written together or not at all.
    """

    path: str
    status: Status
    reason: str | None = None
    findings: tuple[Finding, ...] = ()
    applied: Mapping[str, int] = field(default_factory=Counter)
    before: bytes = field(default=b"", repr=False)
    after: bytes = field(default=b"", repr=False)
    moves: tuple[Moved, ...] = field(default=(), repr=False)
    inexact: Mapping[str, int] = field(default_factory=dict)
    decisions: tuple[Decision, ...] = ()
    asserted: tuple[Asserted, ...] = ()
    ignored: tuple[Finding, ...] = ()
    seconds: float = field(default=0.0, compare=False)
    group: str = field(default="", compare=False)

    @property
    def is_done(self) -> bool:
        """Is nothing of this file left for a person to do?"""
        return self.status != "failed" and not self.findings and self.reason != NOTEBOOK

    def failed(self, reason: str) -> Report:
        """This report when the change could not be made after all."""
        return replace(self, status="failed", reason=reason, applied=Counter(), after=self.before, asserted=())


def internal_error(path: str, data: bytes, error: Exception) -> Report:
    """The report on a file that a defect of the tool's keeps from being rewritten."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{frame.filename.rsplit('/', 1)[-1]}:{frame.lineno}"
    reason = f"internal error: {type(error).__name__}: {error} ({where}): please report it together with the file"
    return Report(path, "failed", reason, before=data, after=data)


def without(word: bytes) -> str:
    """Why a file that does not concern a command is skipped."""
    return f"does not mention {word.decode()}"


def not_concerned(word: bytes) -> frozenset[str]:
    """The reasons for which files that do not concern a command are skipped: nothing need be said of them."""
    return frozenset({EMPTY, without(word)})


def contents(file: Found, word: bytes) -> bytes | Report:
    """The bytes of a file that mentions ``word``, or the report on why it is not read any further.

    What bytes cannot be read as source is decided here for all commands, whatever their ``word``.
    """
    if file.skipped or file.failed:
        return Report(file.path, "skipped" if file.skipped else "failed", file.skipped or file.failed)
    try:
        data = file.data if file.data is not None else _bytes(file.path)
    except OSError as error:
        return Report(file.path, "failed", f"cannot read: {error.strerror or error}")
    if file.path.endswith(".ipynb"):
        # The pictures of a notebook spell any short word now and then, but not between two spaces or quotes.
        reason = NOTEBOOK if re.search(rb"\b%b\b" % word, data) else without(word)
        return Report(file.path, "skipped", reason, before=data, after=data)
    try:
        text = decoded(data).text
    except FileError as error:
        return Report(file.path, "failed" if _names_nki(data) else "skipped", str(error), before=data, after=data)
    if word not in data:
        return Report(file.path, "skipped", without(word) if text else EMPTY, before=data, after=data)
    return data


def imports_beta1(data: bytes) -> bool:
    """Does a line of a file begin an import of ``neuronxcc``?"""
    return _IMPORTS_BETA1.search(data) is not None


def _names_nki(data: bytes) -> bool:
    """Do bytes that are no text have the name of NKI among them, in UTF-16 or UTF-32 perhaps?"""
    return re.search(rb"\b(nki|neuronxcc)\b", data.translate(None, b"\0")) is not None


def _bytes(path: str) -> bytes:
    if path == STDIN:
        return sys.stdin.buffer.read()
    with open(path, "rb") as file:
        return file.read()


def parsed(data: bytes) -> tuple[Text, ast.Module]:
    """The text and the tree of a Python file. Raises ``FileError`` with the line that cannot be read."""
    text = decoded(data)
    try:
        return text, ast.parse(text.text)
    except SyntaxError as error:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        raise FileError(f"line {error.lineno}: does not parse as Python {version}: {error.msg}") from error
    except (RecursionError, MemoryError) as error:
        raise FileError("nested too deeply for Python's parser: break up the deepest expression") from error
