"""A text on its way to another one, line by line: each line knows the line of the input that it was."""

from __future__ import annotations

import ast
import io
import tokenize
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from ..syntax.nodes import first_line
from ..syntax.source import Source


@dataclass(frozen=True)
class Line:
    """One line: its text, the 1-based line of the input that it was, and by how many columns it moved."""

    text: str
    origin: int
    shift: int = 0

    def indented(self, by: str) -> Line:
        return replace(self, text=by + self.text, shift=self.shift + len(by)) if self.text.strip() else self


@dataclass(frozen=True, order=True)
class Edit:
    """Characters ``[start, end)`` of the input, and what takes their place; of two insertions the first comes first."""

    start: int
    end: int
    text: str


def lines_of(text: str) -> list[Line]:
    return [Line(line, number) for number, line in enumerate(text.split("\n"), start=1)]


def margin_of(source: Source, statement: ast.stmt) -> str:
    """The blanks in front of a statement that begins its line."""
    start = source.offset(statement.lineno, 0)
    return source.text[start : source.offset(statement.lineno, statement.col_offset)]


def top_of(source: Source, statement: ast.stmt) -> int:
    """The line on which a statement begins, with its decorators and the comments right above it."""
    lines, first = source.text.split("\n"), first_line(statement)
    margin = margin_of(source, statement) + "#"
    while first > 1 and lines[first - 2].startswith(margin):
        first -= 1
    return first


def end_of_header(source: Source, statement: ast.FunctionDef | ast.For) -> int:
    """The line on which the header of a statement ends; comments and empty lines below it are of its body."""
    lines, end = source.text.split("\n"), first_line(statement.body[0]) - 1
    while not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#"):
        end -= 1
    return end


def last_line(source: Source, statement: ast.FunctionDef | ast.For) -> int:
    """The last line of a statement with a body, with the comments that end the body."""
    lines, last = source.text.split("\n"), statement.end_lineno or statement.lineno
    margin = margin_of(source, statement.body[0]) + "#"
    while last < len(lines) and lines[last].startswith(margin):
        last += 1
    return last


def definitions_around(source: Source, statement: ast.stmt | ast.expr) -> set[str]:
    """The name of the function or class of the module that a statement, or an expression, stands in, if any."""
    definitions = [s for s in source.tree.body if isinstance(s, ast.FunctionDef | ast.ClassDef)]
    return {each.name for each in definitions if each.lineno <= statement.lineno <= (each.end_lineno or 0)}


def dedented(line: Line, margin: str) -> Line:
    """A line without a margin; one that stands to the left of it, without the blanks that it has."""
    if not line.text.startswith(margin):
        return Line(line.text.lstrip(), line.origin, line.shift) if line.text.strip() else line
    return Line(line.text[len(margin) :], line.origin, line.shift - len(margin))


def edited(source: Source, edits: Iterable[Edit]) -> list[Line]:
    """The lines of a module with ``edits`` made; an edit of several lines leaves one, below the comments in it.

    The lines of a text that is put in are all of the line that it is put in.
    """
    lines: list[Line | None] = list(lines_of(source.text))
    above: dict[int, list[str]] = defaultdict(list)
    for edit in sorted(edits, reverse=True):
        (first, begin), (last, end) = source.place(edit.start), source.place(edit.end)
        one, other = lines[first], lines[last]
        assert one is not None and other is not None
        # The lines that go leave their places, so that the edits before them find theirs.
        new = Line(one.text[:begin] + edit.text + other.text[end:], first + 1)
        lines[first : last + 1] = [new, *[None] * (last - first)]
        swallowed = [comment for number in range(first, last + 1) for comment in above.pop(number, [])]
        above[first] = [*comments(source.text[edit.start : edit.end]), *swallowed]
    result: list[Line] = []
    for number, line in enumerate(lines):
        if line is not None:
            margin = line.text[: len(line.text) - len(line.text.lstrip())]
            result += [Line(margin + comment, number + 1) for comment in above[number]]
            result += [replace(line, text=part) for part in line.text.split("\n")]
    return result


def comments(text: str) -> list[str]:
    """The comments in a piece of code whose brackets are closed."""
    if "#" not in text:
        return []
    tokens = tokenize.generate_tokens(io.StringIO(f"({text}\n)").readline)
    return [token.string for token in tokens if token.type == tokenize.COMMENT]


def comments_in(source: Source, numbers: range) -> list[tuple[int, str]]:
    """The comments of some lines, which have whole statements or none, with the first of these lines."""
    text = "\n".join(source.text.split("\n")[numbers.start - 1 : numbers.stop - 1])
    return [(numbers.start, comment) for comment in comments(text)]


def between(lines: Sequence[Line], first: int, last: int) -> list[Line]:
    """The lines that were lines ``first`` to ``last`` (1-based) of the input."""
    return [line for line in lines if first <= line.origin <= last]


@lru_cache(maxsize=8)
def inside_strings(text: str) -> frozenset[int]:
    """1-based lines that begin inside a string of several lines: they cannot be indented."""
    found: set[int] = set()
    opened: list[int] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        name = tokenize.tok_name[token.type]
        if name == "STRING":
            found.update(range(token.start[0] + 1, token.end[0] + 1))
        elif name == "FSTRING_START":
            opened.append(token.start[0])
        elif name == "FSTRING_END":
            found.update(range(opened.pop() + 1, token.end[0] + 1))
    return frozenset(found)


def place_in_input(lines: Sequence[Line], line: int, column: int = 1) -> tuple[int, int]:
    """The 1-based line and column of the input that a place in ``lines`` was."""
    known = lines[min(line, len(lines)) - 1]
    return known.origin, max(column - known.shift, 1)
