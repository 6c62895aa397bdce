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

from nki_migrate.codemods.model import PluginError
from nki_migrate.codemods.syntax.node_index import tree_of
from nki_migrate.runtime.cells import is_notebook

from .discover import STDIN, Found
from .errors import FileError
from .notebooks import is_supported, notebook
from .text import Text, decoded

if TYPE_CHECKING:
    from nki_migrate.codemods.model import Asserted, Decision, Finding, Moved

Status = Literal["changed", "unchanged", "skipped", "failed"]
STATUSES: tuple[Status, ...] = ("changed", "unchanged", "skipped", "failed")


_IMPORTS_BETA1 = re.compile(rb"^[ \t]*(import|from)[ \t]+neuronxcc\b", re.MULTILINE)
_IMPORTS_BETA2 = re.compile(rb"^[ \t]*(import|from)[ \t]+nki\b", re.MULTILINE)

_TOO_DEEP = "nested too deeply to be read: break up the deepest expression"

EMPTY = "empty"
INTERRUPTED = "not written: interrupted: run again"
_WITH_ANOTHER = "not written: nothing is, as "
DECLINED = "declined: run again to be asked again"
NOTEBOOK = "reading notebooks needs nbformat: pip install 'nki-migrate[notebook]'"


@dataclass(frozen=True)
class Report:
    """What became of one file.

    ``before`` and ``after`` are its bytes (``after`` differs only when the status is ``changed``), ``applied`` counts
    the rewrites of each rule, ``reason`` says why a file was skipped or failed, ``moves`` where its declarations went,
    ``inexact`` how many ULP each rule that is not exact declares, ``decisions`` what was chosen for which tensor,
    ``asserted`` what its kernels take for true from then on, ``ignored`` the findings that comments silence,
    ``seconds`` how long it took (of files that are rewritten together, each has its share), ``group`` is the same for
    files that import each other, which change together. ``needs`` are the functions that the file imports from the
    module ``home`` of its package, which does not have them yet, perhaps; ``is_added``: the file is a new one.
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
    needs: tuple[str, ...] = ()
    home: str = ""
    is_added: bool = False

    @property
    def is_done(self) -> bool:
        """Is nothing of this file left for a person to do?"""
        return self.status != "failed" and not self.findings and self.reason not in (NOTEBOOK, DECLINED)

    @property
    def source(self) -> bytes:
        """The file as it was, as Python reads it: of a notebook, the module that its cells are."""
        return python_source(self.path, self.before)

    @property
    def listings(self) -> tuple[bytes, bytes]:
        """The file before and after, as people read it: of a notebook, its code cells."""
        if not is_notebook(self.path) or self.status not in ("changed", "unchanged"):
            return self.before, self.after
        return notebook(self.before).listing.encode(), notebook(self.after).listing.encode()

    def place(self, line: int) -> tuple[int, int]:
        """The cell (0: the file has none) and its line that a line of ``source`` is."""
        if not is_notebook(self.path) or not self.source:
            return 0, line
        place = notebook(self.before).script.place(line)
        return place.cell, place.line

    def shown_line(self, line: int) -> str:
        """A line of ``source`` for people: ``12``, or ``cell 3:12``."""
        cell, inner = self.place(line)
        return f"cell {cell}:{inner}" if cell else str(line)

    def file_line(self, line: int) -> int:
        """The line of the file that a line of ``source`` stands in."""
        cell, inner = self.place(line)
        return notebook(self.before).file_line(cell, inner) if cell else line

    def failed(self, reason: str) -> Report:
        """This report when the change could not be made after all."""
        return replace(self, status="failed", reason=reason, applied=Counter(), after=self.before, asserted=())


def internal_error(path: str, data: bytes, error: Exception) -> Report:
    """The report on a file that a defect of the tool's, or of a plugin's, keeps from being rewritten."""
    if isinstance(error, PluginError):
        return Report(path, "failed", str(error), before=data, after=data)
    if isinstance(error, RecursionError):
        return Report(path, "failed", _TOO_DEEP, before=data, after=data)
    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{frame.filename.rsplit('/', 1)[-1]}:{frame.lineno}"
    reason = f"internal error: {type(error).__name__}: {error} ({where}): please report it together with the file"
    return Report(path, "failed", reason, before=data, after=data)


def without(word: bytes) -> str:
    """Why a file that does not concern a command is skipped."""
    return f"does not mention {word.decode()}"


def with_another(path: str) -> str:
    """Why a file is not written that goes with one that cannot be."""
    return f"{_WITH_ANOTHER}{path} cannot be"


def is_of_run(reason: str) -> bool:
    """Is it the run, and no file of its own, that a file is not written for?"""
    return reason == INTERRUPTED or reason.startswith(_WITH_ANOTHER)


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
        data = bytes_of(file)
    except OSError as error:
        return Report(file.path, "failed", f"cannot read: {error.strerror or error}")
    if is_notebook(file.path):
        return _cells(file, data, word)
    try:
        text = decoded(data).text
    except FileError as error:
        return Report(file.path, "failed" if _names_nki(data) else "skipped", str(error), before=data, after=data)
    if word not in data:
        return Report(file.path, "skipped", without(word) if text else EMPTY, before=data, after=data)
    return data


def _cells(file: Found, data: bytes, word: bytes) -> bytes | Report:
    """The module of a notebook's cells that mention ``word``, or the report on why it is not read any further."""
    # The pictures of a notebook spell any short word now and then, but not between two spaces or quotes.
    if not re.search(rb"(\b|\\n)%b\b" % word, data) and not file.is_named:
        return Report(file.path, "skipped", without(word), before=data, after=data)
    if not is_supported():
        return Report(file.path, "failed" if file.is_named else "skipped", NOTEBOOK, before=data, after=data)
    try:
        found = notebook(data)
        if found.language != "python":
            return Report(file.path, "skipped", f"a notebook of {found.language}", before=data, after=data)
        if not any(word in cell.source.encode() for cell in found.cells):
            return Report(file.path, "skipped", without(word), before=data, after=data)
        return found.script.text.encode()
    except FileError as error:
        return Report(file.path, "failed", str(error), before=data, after=data)


def python_source(path: str, data: bytes) -> bytes:
    """A file's bytes as Python reads them: of a notebook, the module of its cells; nothing where it has none."""
    if not is_notebook(path):
        return data
    try:
        return notebook(data).script.text.encode() if data and is_supported() else b""
    except FileError:
        return b""


def imports_beta1(data: bytes) -> bool:
    """Does a line of a file begin an import of ``neuronxcc``?"""
    return _IMPORTS_BETA1.search(data) is not None


def is_whole_beta1(data: bytes) -> bool:
    """Does a file import ``neuronxcc`` and nothing of ``nki``? (One that has both is half migrated, or serves both.)"""
    return imports_beta1(data) and _IMPORTS_BETA2.search(data) is None


def _names_nki(data: bytes) -> bool:
    """Do bytes that are no text have the name of NKI among them, in UTF-16 or UTF-32 perhaps?"""
    return re.search(rb"\b(nki|neuronxcc)\b", data.translate(None, b"\0")) is not None


def bytes_at(path: str) -> bytes:
    """The content of a file, or of standard input. Raises ``OSError``."""
    if path == STDIN:
        return sys.stdin.buffer.read()
    with open(path, "rb") as file:
        return file.read()


def bytes_of(file: Found) -> bytes:
    """The content of a file that was found. Raises ``OSError``."""
    return file.data if file.data is not None else bytes_at(file.path)


def parsed(data: bytes) -> tuple[Text, ast.Module]:
    """The text and the tree of a Python file. Raises ``FileError`` with the line that cannot be read."""
    text = decoded(data)
    try:
        return text, tree_of(text.text)
    except SyntaxError as error:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        raise FileError(f"line {error.lineno}: does not parse as Python {version}: {error.msg}") from error
    except (RecursionError, MemoryError) as error:
        raise FileError(_TOO_DEEP) from error
