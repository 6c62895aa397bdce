"""Notebooks: their code cells as one module, and the module's new text back in the cells.

The cells run in one namespace, so that a kernel in one cell and an import in another are one module (``Script``), in
the order of the notebook. What IPython reads and Python does not (``%magic``, ``!command``, ``name?``) stands in it as
a call that nothing knows, and so does a whole cell of another language (``%%bash``). Of the JSON text only the sources
of changed cells change: outputs, metadata, ids, indentation and the end of the file keep their bytes.

Source: https://nbformat.readthedocs.io/en/latest/format_description.html,
https://ipython.readthedocs.io/en/stable/interactive/reference.html.
"""

from __future__ import annotations

import ast
import bisect
import importlib
import importlib.util
import json
import re
import sys
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from nki_migrate.runtime.cells import foreign, masked

from .errors import FileError

_SPACE = re.compile(r"[ \t\n\r]*")
_LINES = re.compile(r"[^\n]*\n|[^\n]+")
_LINE_END = re.compile(r"\r\n|\r|\n")
_SURROGATE = re.compile("[\ud800-\udfff]")
_LINE_IN_TEXT = re.compile(r"\bline (\d+)\b(?! of )")


@dataclass(frozen=True)
class Cell:
    """A code cell: its number among all cells of the notebook, from 1, and where its source is in the JSON text."""

    number: int
    source: str
    start: int
    end: int


@dataclass(frozen=True)
class Line:
    """A line of a cell, both from 1."""

    cell: int
    line: int

    def __str__(self) -> str:
        return f"cell {self.cell}:{self.line}"


@dataclass(frozen=True)
class Notebook:
    """A notebook: its JSON text, its code cells, and the language of its kernel."""

    text: str
    cells: tuple[Cell, ...]
    language: str

    @cached_property
    def script(self) -> Script:
        """The module that the code cells are. Raises ``FileError`` for a cell that does not parse."""
        return _script(self.cells, _stem(self.text))

    @property
    def listing(self) -> str:
        """The code cells for people, each under its number."""
        return "\n".join(f"# cell {cell.number}\n{cell.source.rstrip()}\n" for cell in self.cells)

    def with_script(self, text: str) -> bytes:
        """The notebook's bytes with the cells of a module that its own became.

        Raises ``FileError`` where the cells of the new module cannot be told from each other.
        """
        parts, at = [], 0
        for cell, source in zip(self.script.cells, self.script.sources(text), strict=True):
            if source != cell.source:
                parts += [self.text[at : cell.start], self._spelled(cell, source)]
                at = cell.end
        return "".join([*parts, self.text[at:]]).encode()

    def _spelled(self, cell: Cell, source: str) -> str:
        """The JSON of a cell's new source in the form of the old one: a string, or a list of lines laid out as it."""
        escapes = self.text.isascii()
        if self.text[cell.start] == '"':
            return json.dumps(source, ensure_ascii=escapes)
        spans = list(_elements(self.text, cell.start))
        known = {json.loads(self.text[start:end]): self.text[start:end] for start, end in spans}
        lines = [known.get(line) or json.dumps(line, ensure_ascii=escapes) for line in _LINES.findall(source)]
        if not lines:
            return "[]"
        opening = self.text[cell.start + 1 : spans[0][0]] if spans else ""
        closing = self.text[spans[-1][1] : cell.end - 1] if spans else ""
        between = self.text[spans[0][1] : spans[1][0]] if len(spans) > 1 else f",{opening or ' '}"
        return f"[{opening}{between.join(lines)}{closing}]"

    def file_line(self, number: int, line: int) -> int:
        """The line of the JSON text that has a line of a cell."""
        cell = next(cell for cell in self.cells if cell.number == number)
        at = cell.start
        if self.text[at] == "[":
            spans = list(_elements(self.text, at))
            at = spans[min(line, len(spans)) - 1][0] if spans else at
        return self.text.count("\n", 0, at) + 1


@dataclass(frozen=True)
class Script:
    """A module of cells. ``text`` is what Python reads; ``firsts`` are the lines at which the ``cells`` begin.

    ``magics`` are the texts that stand as calls in it, by their numbers, each with its cell; ``stem`` is what the names
    of these calls and the marks between the cells begin with.
    """

    text: str
    cells: tuple[Cell, ...]
    firsts: tuple[int, ...]
    magics: tuple[tuple[int, str], ...]
    stem: str

    def place(self, line: int) -> Line:
        """The cell and its line that a line of the module is."""
        index = max(bisect.bisect_right(self.firsts, line) - 1, 0)
        if not self.cells:
            return Line(0, line)
        return Line(self.cells[index].number, max(line - self.firsts[index] + 1, 1))

    @property
    def magic_lines(self) -> Iterator[tuple[int, str]]:
        """The lines of the module that stand for magics, and what they stand for."""
        found = re.finditer(rf"{self.stem}_magic\((\d+)\n*\)", self.text)
        return ((self.text.count("\n", 0, each.start()) + 1, self.magics[int(each[1])][1]) for each in found)

    def sources(self, text: str) -> list[str]:
        """The sources of the cells in a module that this one became."""
        wanted = [cell.number for cell in self.cells[1:]]
        pieces = re.split(rf'^"{self.stem} cell (\d+)"\r?\n', text, flags=re.MULTILINE)
        if [int(number) for number in pieces[1::2]] != wanted:
            raise FileError("the rewrite moves code from one cell to another")
        if not self.cells:
            return []
        found = [self._unmasked(piece, cell) for piece, cell in zip(pieces[::2], self.cells, strict=True)]
        return [_like(source, cell.source) for source, cell in zip(found, self.cells, strict=True)]

    def _unmasked(self, text: str, cell: Cell) -> str:
        """The source of a cell with its magics, each once and in their order."""
        mask = re.compile(rf"{self.stem}_magic\((\d+)\n*\)")
        mine = [number for number, (owner, _) in enumerate(self.magics) if owner == cell.number]
        if [int(found[1]) for found in mask.finditer(text)] != mine:
            raise FileError(f"the rewrite moves or copies a magic of cell {cell.number}")
        return mask.sub(lambda found: self.magics[int(found[1])][1], text)

    def told(self, message: str) -> str:
        """A message about the module, with the cells that its lines are in."""

        def line(found: re.Match[str]) -> str:
            place = self.place(int(found[1]))
            return f"line {place.line} of cell {place.cell}"

        return _LINE_IN_TEXT.sub(line, message)


def is_supported() -> bool:
    """Is the extra ``notebook`` installed?"""
    return importlib.util.find_spec("nbformat") is not None


@lru_cache(maxsize=32)
def notebook(data: bytes) -> Notebook:
    """The notebook of some bytes. Raises ``FileError`` where they are no JSON, or no notebook of format 4."""
    try:
        text = data.decode()
        value = json.loads(text)
    except UnicodeDecodeError as error:
        raise FileError(f"line {data.count(10, 0, error.start) + 1}: a notebook is UTF-8, and this is not") from error
    except json.JSONDecodeError as error:
        raise FileError(f"line {error.lineno}: does not parse as JSON: {error.msg}") from error
    except RecursionError as error:
        raise FileError("nested too deeply for a notebook") from error
    _require_valid(value)
    metadata = value.get("metadata", {})
    kernel, language = metadata.get("kernelspec", {}), metadata.get("language_info", {})
    name = kernel.get("language") or language.get("name") or "python"
    return Notebook(text, tuple(_cells(text)), str(name).lower())


def _require_valid(value: Any) -> None:
    """Raise ``FileError`` unless a value is a notebook whose format is known."""
    major = value.get("nbformat") if isinstance(value, dict) else None
    if not isinstance(major, int):
        raise FileError("this JSON is no notebook: it has no nbformat")
    if major != 4:
        raise FileError(f"a notebook of format {major}: open and save it in Jupyter, which writes format 4")
    nbformat = importlib.import_module("nbformat")
    validator = importlib.import_module("nbformat.validator")
    minor = value.get("nbformat_minor")
    found = next(
        validator.iter_validate(
            nbformat.from_dict(_with_ids(value)),
            version=major,
            version_minor=minor if isinstance(minor, int) else 0,
            relax_add_props=True,
        ),
        None,
    )
    if found is not None:
        place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in found.absolute_path)
        message = " ".join(found.message.split())
        raise FileError(f"not a valid notebook ({place.lstrip('.') or 'it'}: {message[:120]}): save it in Jupyter")


def _with_ids(value: dict[str, Any]) -> dict[str, Any]:
    """A notebook whose cells all have ids, which format 4.5 asks for: many lack them, and nothing here reads them."""
    cells, minor = value.get("cells"), value.get("nbformat_minor")
    if not isinstance(cells, list) or not isinstance(minor, int) or minor < _MINOR_WITH_IDS:
        return value
    named = [{"id": f"cell-{n}"} | cell if isinstance(cell, dict) else cell for n, cell in enumerate(cells)]
    return value | {"cells": named}


_MINOR_WITH_IDS = 5


# --- JSON text -------------------------------------------------------------------------------------------------------

_DECODER = json.JSONDecoder()


def _end(text: str, at: int) -> int:
    """The end of the value that begins at ``at``."""
    return _DECODER.raw_decode(text, at)[1]


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _elements(text: str, at: int) -> Iterator[tuple[int, int]]:
    """Where each element of the list at ``at`` begins and ends."""
    at = _after_space(text, at + 1)
    while text[at] != "]":
        end = _end(text, at)
        yield at, end
        at = _after_space(text, end)
        at = _after_space(text, at + 1) if text[at] == "," else at


def _members(text: str, at: int) -> dict[str, tuple[int, int]]:
    """Where the value of each key of the object at ``at`` begins and ends."""
    members: dict[str, tuple[int, int]] = {}
    at = _after_space(text, at + 1)
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        start = _after_space(text, _after_space(text, at) + 1)
        members[key] = start, _end(text, start)
        at = _after_space(text, members[key][1])
        at = _after_space(text, at + 1) if text[at] == "," else at
    return members


def _cells(text: str) -> Iterator[Cell]:
    for number, (start, _) in enumerate(_elements(text, _members(text, _after_space(text, 0))["cells"][0]), 1):
        members = _members(text, start)
        kind, source = (json.loads(text[slice(*members[key])]) for key in ("cell_type", "source"))
        if kind == "code":
            joined = source if isinstance(source, str) else "".join(source)
            if _SURROGATE.search(joined):
                raise FileError(f"cell {number}: half of a surrogate pair: this is no Python source")
            yield Cell(number, joined, *members["source"])


# --- the module ------------------------------------------------------------------------------------------------------


def _stem(text: str) -> str:
    """A name that the notebook does not have."""
    stem = "nki_migrate"
    while f"{stem} cell" in text or f"{stem}_magic" in text:
        stem += "_"
    return stem


def _script(cells: Sequence[Cell], stem: str) -> Script:
    parts: list[str] = []
    firsts: list[int] = []
    magics: list[tuple[int, str]] = []
    line = 1
    for cell in cells:
        head = f'"{stem} cell {cell.number}"\n' if parts else _head(cell.source)
        source = _masked(cell, stem, magics) + "\n"
        _require_python(source, cell)
        parts += [head, source]
        firsts.append(line + head.count("\n"))
        line = firsts[-1] + len(_LINE_END.findall(source))
    return Script("".join(parts), tuple(cells), tuple(firsts), tuple(magics), stem)


def _head(source: str) -> str:
    """Empty lines before a first cell that would declare an encoding: a notebook's is UTF-8, whatever it says."""
    lines = iter(source.encode().splitlines(keepends=True))
    try:
        return "" if tokenize.detect_encoding(lambda: next(lines, b""))[0] == "utf-8" else "\n\n"
    except SyntaxError:
        return "\n\n"


def _require_python(source: str, cell: Cell) -> None:
    """Raise ``FileError`` for a cell that is no Python: joined with the next one, it might be another program."""
    try:
        ast.parse(source)
    except SyntaxError as error:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        where = f"cell {cell.number}, line {error.lineno}"
        raise FileError(f"{where}: does not parse as Python {version}: {error.msg}") from error
    except (RecursionError, MemoryError, ValueError) as error:
        raise FileError(f"cell {cell.number}: Python's parser cannot read it: {error}") from error


def _masked(cell: Cell, stem: str, magics: list[tuple[int, str]]) -> str:
    """A cell's source with a call in the place of each magic, which is added to ``magics``."""

    def call(magic: str) -> str:
        magics.append((cell.number, magic))
        return f"{stem}_magic({len(magics) - 1}{chr(10) * magic.count(chr(10))})"

    return call(cell.source) if foreign(cell.source) else masked(cell.source, call)


def _like(source: str, old: str) -> str:
    """A cell's source with no empty line at its ends that the old one did not have."""
    source = source.removesuffix("\n")
    if source == old:
        return old
    if not source.strip():
        return ""
    leading, trailing = len(old) - len(old.lstrip("\n")), len(old) - len(old.rstrip("\n"))
    return "\n" * leading + source.strip("\n") + "\n" * trailing
