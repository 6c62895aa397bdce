"""One file: its tree, what its names mean, and the edits and findings that the rules collect."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from nki_migrate.runtime.spec.tilelang import position

from ..model import Finding, Options
from .names import OTHER, Names, canonical, dotted, names_of

HELP = "write it by hand, or ask for the target version that still has it (--to)"


@dataclass(frozen=True, order=True)
class Edit:
    """The text of ``[start, end)`` becomes ``text``."""

    start: int
    end: int
    text: str
    order: int = 0


@dataclass
class Draft:
    """The edits of one construct: all of them are made, or none."""

    code: str
    node: ast.AST
    edits: list[Edit] = field(default_factory=list)


class Module:
    """A file that the rules read. They add drafts (:meth:`commit`) and findings (:meth:`leave`)."""

    def __init__(self, text: str, source: str, target: str, options: Options) -> None:
        self.text = text
        self.tree = ast.parse(text)
        self.source, self.target = position(source), position(target)
        self.target_version = target
        self.options = options
        self.findings: list[Finding] = []
        self.drafts: list[Draft] = []
        self.applied: Counter[str] = Counter()
        self._lines = _line_starts(text)

    # --- what is where ------------------------------------------------------------------------------------------------

    @cached_property
    def names(self) -> dict[ast.AST, Names]:
        return names_of(self.tree)

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        return {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """Every node, outer ones first, in the order of the text."""
        return tuple(_ordered(self.tree))

    def start(self, node: ast.AST) -> int:
        return self._offset(node.lineno, node.col_offset)  # type: ignore[attr-defined]

    def end(self, node: ast.AST) -> int:
        return self._offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def segment(self, node: ast.AST) -> str:
        """The text of a node."""
        return self.text[self.start(node) : self.end(node)]

    def _offset(self, line: int, column: int) -> int:
        start = self._lines[line - 1]
        rest = self.text[start : self._lines[line] if line < len(self._lines) else len(self.text)]
        return start + (column if rest.isascii() else len(rest.encode()[:column].decode()))

    def member(self, node: ast.AST) -> str | None:
        """``"alloc_var"`` for an expression that means ``tilelang.language.alloc_var``, by whatever name."""
        means = self.means(node)
        return means[2:] if means is not None and means.startswith("T.") else None

    def means(self, node: ast.AST) -> str | None:
        parts = dotted(node)
        if parts is None or node not in self.names:
            return None
        paths = self.names[node].of(parts[0])
        if len(paths) != 1 or OTHER in paths:
            found = {canonical(".".join((path, *parts[1:]))) for path in paths if path != OTHER}
            return found.pop() if len(found) == 1 and OTHER not in paths else None
        return canonical(".".join((next(iter(paths)), *parts[1:])))

    def is_doubtful(self, node: ast.AST) -> bool:
        """May the first name of a dotted expression be TileLang's language, and something else as well?"""
        parts = dotted(node)
        if parts is None or node not in self.names:
            return False
        paths = self.names[node].of(parts[0])
        found = {canonical(".".join((path, *parts[1:]))) for path in paths}
        return len(found) > 1 and any(found)

    def prefix(self, node: ast.AST) -> str:
        """How the file spells the language where ``node`` names a member of it: ``T.``, or nothing."""
        text = self.segment(node)
        return text[: len(text) - len(text.split(".")[-1].strip())] if isinstance(node, ast.Attribute) else ""

    def spelled(self, node: ast.AST, name: str) -> str | None:
        """``name`` of the language as the file can write it where ``node`` names another member of it."""
        if isinstance(node, ast.Attribute):
            return self.prefix(node) + name
        scope = self.names[node]
        if scope.of(name) == {f"tilelang.language.{name}"}:
            return name
        for alias in self._aliases(scope):
            return f"{alias}.{name}"
        return None

    def _aliases(self, scope: Names | None) -> Iterator[str]:
        whole = scope
        while scope is not None and whole is not None:
            for name in scope.bound:
                if {canonical(path) for path in whole.of(name)} == {"T"}:
                    yield name
            scope = scope.outer

    def calls(self, *members: str) -> Iterator[tuple[ast.Call, str]]:
        """The calls of these members of the language, in the order of the text."""
        for node in self.nodes:
            if isinstance(node, ast.Call):
                name = self.member(node.func)
                if name in members:
                    yield node, str(name)

    def statement(self, node: ast.AST) -> ast.stmt:
        """The innermost statement that a node is part of."""
        while not isinstance(node, ast.stmt):
            node = self.parents[node]
        return node

    def function(self, node: ast.AST) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        """The innermost function that a node is inside of."""
        at = self.parents.get(node)
        while at is not None and not isinstance(at, (ast.FunctionDef, ast.AsyncFunctionDef)):
            at = self.parents.get(at)
        return at

    def uses(self, name: ast.Name) -> list[ast.Name]:
        """All uses of the name in the block that binds it and the blocks below, the given one among them."""
        owner = self._owner(name)
        return [
            node
            for node in self.nodes
            if isinstance(node, ast.Name) and node.id == name.id and node in self.names and self._owner(node) is owner
        ]

    def _owner(self, name: ast.Name) -> Names | None:
        scope: Names | None = self.names[name]
        while scope is not None and name.id not in scope.bound:
            scope = scope.outer
        return scope

    def is_free(self, name: str) -> bool:
        """Is ``name`` used for nothing in the file?"""
        taken = {node.id for node in self.nodes if isinstance(node, ast.Name)}
        taken |= {node.arg for node in self.nodes if isinstance(node, ast.arg)}
        return name not in taken

    def constant(self, node: ast.AST) -> object:
        """The value of a literal, or of a name that the file binds once, to a literal; ``...`` for anything else."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            inner = self.constant(node.operand)
            return -inner if isinstance(inner, (int, float)) and not isinstance(inner, bool) else ...
        if isinstance(node, ast.Name) and node in self.names:
            stores = [use for use in self.uses(node) if not isinstance(use.ctx, ast.Load)]
            if len(stores) == 1:
                statement = self.parents[stores[0]]
                if isinstance(statement, ast.Assign) and statement.targets == [stores[0]]:
                    return self.constant(statement.value)
        return ...

    # --- edits --------------------------------------------------------------------------------------------------------

    def stands_alone(self, statement: ast.stmt) -> bool:
        """Does the statement have its lines for itself (but for a comment)?"""
        first = self.text.rfind("\n", 0, self.start(statement)) + 1
        end = self.end(statement)
        last = self.text.find("\n", end)
        rest = self.text[end : last if last >= 0 else len(self.text)].strip()
        return not self.text[first : self.start(statement)].strip() and (not rest or rest.startswith("#"))

    def line_after(self, statement: ast.stmt, line: str, order: int = 0) -> Edit:
        """A line of its own behind a statement that stands alone, as far indented."""
        last = self.text.find("\n", self.end(statement))
        at = last if last >= 0 else len(self.text)
        first = self.text.rfind("\n", 0, self.start(statement)) + 1
        return Edit(at, at, f"\n{self.text[first : self.start(statement)]}{line}", order)

    def replace(self, node: ast.AST, text: str) -> Edit:
        return Edit(self.start(node), self.end(node), text)

    def commit(self, draft: Draft) -> None:
        """Make the edits of ``draft``, if its rule is wanted."""
        self.drafts.append(draft)

    def leave(self, node: ast.AST, code: str, message: str, help: str, applicability: str = "manual") -> None:
        """Say why a construct stays as it is."""
        if self.options.enabled(code):
            line, column = node.lineno, node.col_offset + 1  # type: ignore[attr-defined]
            self.findings.append(Finding(line, column, code, applicability, message, help))


def applied(text: str, edits: Sequence[Edit]) -> str:
    """``text`` with these edits, which do not overlap."""
    for edit in sorted(edits, key=lambda each: (each.start, each.end, each.order), reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def overlap(first: Draft, second: Draft) -> bool:
    """Do two drafts change the same text? (Insertions at one place do not.)"""
    return any(a.start < b.end and b.start < a.end for a in first.edits for b in second.edits)


def _ordered(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _ordered(child)


def _line_starts(text: str) -> list[int]:
    starts, at = [0], 0
    for line in text.split("\n"):
        at += len(line) + 1
        starts.append(at)
    return starts
