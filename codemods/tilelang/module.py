"""One file: its tree, and which of its names are TileLang's language."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from nki_migrate.runtime.spec.tilelang import position

from ..model import Options
from ..syntax.drafts import Sheet
from ..syntax.name_scopes import OTHER, Names, dotted
from .names import canonical, star

HELP = "write it by hand, or ask for the target version that still has it (--to)"


class Module(Sheet):
    """A file that the rules of TileLang read."""

    def __init__(self, text: str, source: str, target: str, options: Options) -> None:
        super().__init__(text, options, star)
        self.source, self.target = position(source), position(target)
        self.target_version = target

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
