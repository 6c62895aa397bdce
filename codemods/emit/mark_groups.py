"""What one mark says of several findings: of those that only follow from its own, and of the same ones behind it.

A kernel stops at its first mark. What is kept for the marked statement, computes with what that would have made, or
has the same finding as it, behind it in its block, is told there by its name or number, and has no mark of its own.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ..model import AFTER, KEPT, NOT_THE_SAME, Finding
from ..syntax import codes
from ..syntax.mark_text import WHOLE, mark_in
from ..syntax.node_index import of_kinds, walk
from ..syntax.nodes import blocks, bound_by, parents_of

_NAMES = r"('\w+'(?:(?:, | and )'\w+')*)"
_PARTS = re.compile(
    rf"(?P<said>.*?)(?:; {_NAMES} (?:is|are) kept for it)?(?:; {_NAMES} comes? of it)?(?:; (\d+) more below)?"
)


_OWN = {"NKI007": "NKI007"}
"""The rules that say themselves of what comes of a statement that they left."""


@dataclass
class Group:
    """What one mark says besides its own finding: names that are kept for it, that come of it, and how many more."""

    kept: list[str] = field(default_factory=list)
    following: list[str] = field(default_factory=list)
    more: int = 0

    @property
    def text(self) -> str:
        """What stands behind the message of the mark's own finding."""
        parts = [f"{_listed(self.kept)} {'is' if len(self.kept) == 1 else 'are'} kept for it"] if self.kept else []
        verb = "comes" if len(self.following) == 1 else "come"
        parts += [f"{_listed(self.following)} {verb} of it"] if self.following else []
        parts += [f"{self.more} more below"] if self.more else []
        return "".join(f"; {part}" for part in parts)


def read(message: str) -> tuple[str, Group]:
    """The message of a mark without what it says besides, and that."""
    found = _PARTS.fullmatch(message)
    if found is None:
        return message, Group()
    return found["said"], Group(_names(found[2]), _names(found[3]), int(found[4] or 0))


def followed(tree: ast.Module, place: int, code: str, group: Group) -> list[Finding]:
    """The findings that a mark with a ``code`` says besides its own, which stands in front of line ``place``."""
    assigned = [(s.lineno, s.col_offset + 1, name) for s in of_kinds(tree, ast.Assign) for name in bound_by(s)]
    read = [(n.lineno, n.col_offset + 1, n.id) for n in of_kinds(tree, ast.Name) if isinstance(n.ctx, ast.Load)]
    found = []
    for name in group.kept:
        line, column = max(((row, at) for row, at, n in assigned if n == name and row < place), default=(place, 1))
        message, help = f"'{name}' is not Beta 2, and {KEPT}", "remove it when that statement is rewritten"
        found.append(Finding(line, column, codes.INDEX_VECTORS, "manual", message, help))
    for name in group.following:
        line, column = min(((row, at) for row, at, n in read if n == name and row > place), default=(place, 1))
        help = "rewrite it with that statement, which tells its type and shape"
        found.append(Finding(line, column, _OWN.get(code, codes.UNSUPPORTED), "manual", f"'{name}' {AFTER}", help))
    return found


def lines_behind(tree: ast.Module) -> set[int]:
    """The first lines of the statements behind marks that speak for what is behind them in their block, too."""
    lines: set[int] = set()
    for marked in of_kinds(tree, ast.Assert):
        mark = mark_in(marked)
        _, group = read(mark[2].removesuffix(WHOLE)) if mark is not None else ("", Group())
        if group.more or group.following:
            beside = next((block for block in blocks(parents_of(tree)[marked]) if marked in block), [marked])
            behind = beside[beside.index(marked) + 1 :]
            lines |= {node.lineno for statement in behind for node in walk(statement) if isinstance(node, ast.stmt)}
    return lines


def grouped(
    stops: Sequence[tuple[ast.stmt, Finding]],
    kept: Iterable[tuple[ast.stmt, Finding]],
    beside: Mapping[ast.stmt, Sequence[ast.stmt]],
) -> tuple[dict[tuple[ast.stmt, Finding], Group], list[tuple[ast.stmt, Finding]]]:
    """The marks that stop kernels, each with what else it says, and what is ``kept`` for none of them.

    ``beside`` are the statements beside each one, itself included; ``stops`` are in the order of the source.
    """
    groups: dict[tuple[ast.stmt, Finding], Group] = {}
    origins: dict[ast.stmt, tuple[ast.stmt, Finding]] = {}
    for stop in stops:
        statement, finding = stop
        first = _first_alike(groups, stop, beside) or _cause(origins, stop, beside)
        if first is None:
            groups[stop] = Group()
        elif finding.message.endswith(AFTER):
            name = _name(finding)
            groups[first].following += [name] if name not in groups[first].following else []
        elif statement is not first[0]:
            groups[first].more += 1
        origins.setdefault(statement, first or stop)
    alone = []
    for statement, finding in kept:
        name = _name(finding)
        readers = (s for s in origins if s.lineno >= statement.lineno and _reads(s, name))
        reader = min(readers, key=lambda s: s.lineno, default=None)
        if reader is None or reader is statement:
            alone.append((statement, finding))
        else:
            names = groups[origins[reader]].kept
            names += [name] if name not in names else []
    return groups, alone


def with_what_comes_of_them(
    comments: Iterable[tuple[ast.stmt, Finding]], beside: Mapping[ast.stmt, Sequence[ast.stmt]]
) -> dict[tuple[ast.stmt, Finding], Group]:
    """The marks of code that does not stop, each with what comes of its statement in the same block.

    A name of Beta 1 that is not in Beta 2 has one mark in a file: whoever looks for it finds the others.
    """
    groups: dict[tuple[ast.stmt, Finding], Group] = {}
    names: dict[str, Group] = {}
    for comment in comments:
        cause = _cause({statement: (statement, finding) for statement, finding in groups}, comment, beside)
        message = comment[1].message
        if cause is None and message in names:
            names[message].more += comment[0] not in (statement for statement, _ in groups)
        elif cause is None:
            groups[comment] = Group()
            names |= {message: groups[comment]} if message.endswith(NOT_THE_SAME) else {}
        elif _name(comment[1]) not in groups[cause].following:
            groups[cause].following.append(_name(comment[1]))
    return groups


def _first_alike(
    groups: Iterable[tuple[ast.stmt, Finding]],
    stop: tuple[ast.stmt, Finding],
    beside: Mapping[ast.stmt, Sequence[ast.stmt]],
) -> tuple[ast.stmt, Finding] | None:
    """The mark in front in the same block that says the same."""
    said = (stop[1].code, stop[1].applicability, stop[1].message)
    for statement, finding in groups:
        is_beside = beside.get(statement) is beside.get(stop[0]) is not None
        if is_beside and (finding.code, finding.applicability, finding.message) == said:
            return statement, finding
    return None


def _cause(
    origins: Mapping[ast.stmt, tuple[ast.stmt, Finding]],
    stop: tuple[ast.stmt, Finding],
    beside: Mapping[ast.stmt, Sequence[ast.stmt]],
) -> tuple[ast.stmt, Finding] | None:
    """The mark of the last statement in front in the same block that would have made what a finding is about."""
    statement, finding = stop
    if not finding.message.endswith(AFTER):
        return None
    made = [s for s in origins if _name(finding) in bound_by(s) and s is not statement]
    causes = [s for s in made if beside.get(s) is beside.get(statement) is not None]
    return origins[causes[-1]] if causes else None


def _name(finding: Finding) -> str:
    return finding.message.split("'")[1]


def _reads(statement: ast.stmt, name: str) -> bool:
    return any(node.id == name and isinstance(node.ctx, ast.Load) for node in of_kinds(statement, ast.Name))


def _listed(names: Sequence[str]) -> str:
    """Names as a person lists them: ``'a', 'b' and 'c'``."""
    quoted = [f"'{name}'" for name in names]
    return " and ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)


def _names(text: str | None) -> list[str]:
    return re.findall(r"'(\w+)'", text or "")
