"""Where the imports of a module stand, and whether they ask if a package is there."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from .node_index import walk


@dataclass(frozen=True)
class Block:
    """A list of statements: the ``field`` of ``owner``."""

    owner: ast.AST
    field: str

    @property
    def is_probe(self) -> bool:
        """The body of a ``try`` with handlers: what follows depends on whether its imports succeed.

        One whose handlers only import something else, or pass, decides nothing.
        """
        return (
            self.field == "body"
            and isinstance(self.owner, ast.Try)
            and any(not isinstance(s, _NOTHING) for part in parts_of_try(self.owner) for s in part)
        )


_NOTHING = (ast.Import, ast.ImportFrom, ast.Pass)


def parts_of_try(node: ast.Try) -> Iterator[list[ast.stmt]]:
    """What a ``try`` runs, one of its handlers, or its ``else``."""
    yield node.body
    yield from (handler.body for handler in node.handlers)
    yield node.orelse


def import_blocks(tree: ast.Module) -> dict[ast.Import | ast.ImportFrom, Block]:
    """The import statements of a module, wherever they stand, and their blocks."""
    return {
        statement: Block(node, field)
        for node in walk(tree)
        for field, statements in ast.iter_fields(node)
        if isinstance(statements, list)
        for statement in statements
        if isinstance(statement, ast.Import | ast.ImportFrom)
    }
