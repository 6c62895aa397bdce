"""Where each statement of the output comes from: the statement of the input that it is, or that it was made for."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import libcst as cst

from .reaching_definitions import every_statement

Place = Literal["at", "before", "after", "prologue"]


@dataclass(frozen=True)
class Origin:
    """A statement of the input, and where the new one stands: in its place, around it, or at the start of its body."""

    statement: ast.stmt
    place: Place = "at"


Origins = Mapping[ast.stmt, Origin]
"""By the statements of the output; one that has none was not made for a statement of the input."""


@dataclass
class Marks:
    """Origins of the statements that are being built, by the parts of them that later changes leave alone."""

    found: dict[int, Origin] = field(default_factory=dict)
    parts: list[cst.CSTNode] = field(default_factory=list)
    """Kept, so that no other node gets the ``id`` of one that is marked."""

    def mark(self, nodes: Iterable[cst.CSTNode], origin: Origin, *, inner: bool = True) -> None:
        """Note where statements come from, and what stands in them."""
        for part in _parts(nodes, inner=inner):
            self._note(part, origin)

    def mark_each(self, nodes: Iterable[cst.CSTNode], old: Iterable[ast.stmt], *, inner: bool = True) -> None:
        """Note that statements are what they were."""
        for part, statement in zip(_parts(nodes, inner=inner), old, strict=True):
            self._note(part, Origin(statement))

    def _note(self, part: cst.CSTNode, origin: Origin) -> None:
        self.found[id(part)] = origin
        self.parts.append(part)

    def origins(self, body: Sequence[cst.CSTNode], tree: ast.Module) -> Origins:
        """The origins of the statements of ``tree``, which is what ``body`` is parsed to."""
        pairs = zip(every_statement(tree.body), _parts(body, inner=True), strict=True)
        return {new: self.found[id(part)] for new, part in pairs if id(part) in self.found}


def _parts(nodes: Iterable[cst.CSTNode], *, inner: bool) -> Iterator[cst.CSTNode]:
    """What tells each statement from all others, in the order of the source; with ``inner``, those in them, too."""
    for node in nodes:
        if isinstance(node, cst.SimpleStatementLine | cst.SimpleStatementSuite):
            yield from node.body
            continue
        yield _part(node)
        if inner:
            for block in _blocks(node):
                yield from _parts(block, inner=True)


def _part(node: cst.CSTNode) -> cst.CSTNode:
    match node:
        case cst.If() | cst.While():
            return node.test
        case cst.For():
            return node.target
        case cst.With():
            return node.items[0]
        case cst.FunctionDef() | cst.ClassDef():
            return node.name
        case cst.Match():
            return node.subject
        case cst.Try() | cst.TryStar():
            return node.whitespace_before_colon
    raise AssertionError(type(node).__name__)


def _blocks(node: cst.CSTNode) -> Iterator[Sequence[cst.CSTNode]]:
    """The blocks of a statement in the order of the source."""
    for holder in (
        node,
        *getattr(node, "handlers", ()),
        getattr(node, "orelse", None),
        getattr(node, "finalbody", None),
        *getattr(node, "cases", ()),
    ):
        if isinstance(holder, cst.If) and holder is not node:
            yield [holder]
            continue
        body = getattr(holder, "body", None)
        if isinstance(body, cst.IndentedBlock):
            yield body.body
        elif isinstance(body, cst.SimpleStatementSuite):
            yield [body]
