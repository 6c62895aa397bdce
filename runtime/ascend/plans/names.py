"""What the names of a file mean: which of them are TileLang's, whatever they are called there."""

from __future__ import annotations

import ast
from collections.abc import Mapping

LANGUAGES = ("tilelang.language", "tilelang.ascend.language")
"""The modules whose members the kernels use."""


def aliases(tree: ast.Module) -> Mapping[str, str]:
    """Each name that an import anywhere in the file binds to something of ``tilelang``, and its dotted name.

    A name that another import (``from tvm.script import tir as T``) binds, too, is left out: it means either.
    """
    found: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                found.setdefault(name, set()).add(alias.name if alias.asname else name)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                found.setdefault(alias.asname or alias.name, set()).add(f"{node.module}.{alias.name}")
    return {name: only for name, known in found.items() if (only := _only(known))}


def _only(known: set[str]) -> str:
    one = next(iter(known)) if len(known) == 1 else ""
    return one if one.partition(".")[0] == "tilelang" else ""


class Names:
    """The names of one file. Calling it with an expression is :data:`~.values.NameOf`."""

    def __init__(self, known: Mapping[str, str]) -> None:
        self.known = known

    @staticmethod
    def of(tree: ast.Module) -> Names:
        return Names(aliases(tree))

    def qualified(self, node: ast.expr) -> str | None:
        """The dotted name of an expression, ``None`` for what is not TileLang's."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self.known:
            return None
        return ".".join([self.known[node.id], *reversed(parts)])

    def __call__(self, node: ast.expr) -> str | None:
        """The name below the language module (``alloc_ub``, ``tile.add``), or from the root (``tilelang.jit``)."""
        name = self.qualified(node)
        if name is None:
            return None
        for language in LANGUAGES:
            if name.startswith(f"{language}."):
                return name[len(language) + 1 :]
        return name
