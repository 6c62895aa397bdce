"""One text of any kernel language: what stands where in it, and the edits and findings that rules collect.

A rule drafts the edits of one construct, which are made together or not at all; everything is an edit of a span of the
text, so what no rule touches keeps its bytes.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ..model import Finding, Options
from .module_level import definitions_around, module_statements
from .name_scopes import Names, Stars, names_of
from .node_index import children, tree_of
from .nodes import first_line


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


class Sheet:
    """A file that the rules of a language read. They add drafts (:meth:`commit`) and findings (:meth:`leave`)."""

    def __init__(self, text: str, options: Options, stars: Stars) -> None:
        self.text = text
        self.tree = tree_of(text)
        self.options = options
        self.findings: list[Finding] = []
        self.drafts: list[Draft] = []
        self._stars = stars
        self._lines = _line_starts(text)

    # --- what is where ------------------------------------------------------------------------------------------------

    @cached_property
    def names(self) -> dict[ast.AST, Names]:
        """For each node the block whose names it sees."""
        return names_of(self.tree, self._stars)

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """The node right above each one."""
        found: dict[ast.AST, ast.AST] = {}
        _add_below(found, self.tree)
        return found

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """Every node, outer ones first, in the order of the text."""
        return (self.tree, *self.parents)

    @cached_property
    def _functions(self) -> dict[ast.AST, ast.FunctionDef | ast.AsyncFunctionDef]:
        """For each node inside of a function the innermost one."""
        found: dict[ast.AST, ast.FunctionDef | ast.AsyncFunctionDef] = {}
        for node, above in self.parents.items():
            own = above if isinstance(above, (ast.FunctionDef, ast.AsyncFunctionDef)) else found.get(above)
            if own is not None:
                found[node] = own
        return found

    @cached_property
    def _named(self) -> dict[str, list[ast.Name]]:
        """All uses of each name, in whatever block."""
        found: dict[str, list[ast.Name]] = {}
        for node in self.nodes:
            if isinstance(node, ast.Name):
                found.setdefault(node.id, []).append(node)
        return found

    def start(self, node: ast.AST) -> int:
        return self._offset(node.lineno, node.col_offset)  # type: ignore[attr-defined]  # of nodes with places

    def end(self, node: ast.AST) -> int:
        return self._offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]  # of nodes with places

    def segment(self, node: ast.AST) -> str:
        """The text of a node."""
        return self.text[self.start(node) : self.end(node)]

    def line_start(self, line: int) -> int:
        """Where a line begins (the first is number 1; behind the last one: where the text ends)."""
        return min(self._lines[line - 1], len(self.text))

    def _offset(self, line: int, column: int) -> int:
        start = self._lines[line - 1]
        rest = self.text[start : self._lines[line] if line < len(self._lines) else len(self.text)]
        return start + (column if rest.isascii() else len(rest.encode()[:column].decode()))

    def statement(self, node: ast.AST) -> ast.stmt:
        """The innermost statement that a node is part of."""
        while not isinstance(node, ast.stmt):
            node = self.parents[node]
        return node

    def function(self, node: ast.AST) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        """The innermost function that a node is inside of."""
        return self._functions.get(node)

    def uses(self, name: ast.Name) -> list[ast.Name]:
        """All uses of the name in the block that binds it and the blocks below, the given one among them."""
        owner = self._owner(name)
        same = self._named.get(name.id, [])
        return [node for node in same if node in self.names and self._owner(node) is owner]

    def _owner(self, name: ast.Name) -> Names | None:
        scope: Names | None = self.names[name]
        while scope is not None and name.id not in scope.bound:
            scope = scope.outer
        return scope

    def is_free(self, name: str) -> bool:
        """Is ``name`` used for nothing in the file?"""
        return name not in self._named and not any(isinstance(n, ast.arg) and n.arg == name for n in self.nodes)

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
            line, column = node.lineno, node.col_offset + 1  # type: ignore[attr-defined]  # of nodes with places
            self.findings.append(Finding(line, column, code, applicability, message, help))


def applied(text: str, edits: Sequence[Edit]) -> str:
    """``text`` with these edits, which do not overlap."""
    for edit in sorted(edits, key=lambda each: (each.start, each.end, each.order), reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def overlap(first: Draft, second: Draft) -> bool:
    """Do two drafts change the same text? (Insertions at one place do not.)"""
    return any(a.start < b.end and b.start < a.end for a in first.edits for b in second.edits)


def _add_below(found: dict[ast.AST, ast.AST], node: ast.AST) -> None:
    """Add the nodes below one, each with that above it, in the order of the text."""
    for child in children(node):
        found[child] = node
        _add_below(found, child)


def _line_starts(text: str) -> list[int]:
    starts, at = [0], 0
    for line in text.split("\n"):
        at += len(line) + 1
        starts.append(at)
    return starts


def without_overlaps(drafts: Sequence[Draft]) -> list[Draft]:
    """The drafts that can be made together, the first ones first."""
    chosen: list[Draft] = []
    for draft in drafts:
        if not any(overlap(draft, other) for other in chosen):
            chosen.append(draft)
    return chosen


def definitions_in(sheet: Sheet, node: ast.AST, edits: Sequence[Edit] = ()) -> set[str]:
    """The names of the module-level definitions that a node is in, or that ``edits`` change."""
    around = definitions_around(sheet.tree)
    found = {around[node]} if node in around else set()
    for definition in module_statements(sheet.tree) if edits else ():
        if isinstance(definition, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            start, end = sheet.line_start(first_line(definition)), sheet.end(definition)
            if any(start <= edit.start <= end for edit in edits):
                found.add(definition.name)
    return found
