"""Syntax trees of Python: their statements, and copies."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeVar

Node = TypeVar("Node", bound=ast.AST)


def statements(tree: ast.AST) -> Iterator[ast.stmt]:
    """All statements below ``tree``, those inside of others, too; no expression is looked into."""
    nodes = [tree]
    for node in nodes:  # grows as it is read: breadth first
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.stmt, ast.excepthandler, ast.match_case)):
                nodes.append(child)
                if isinstance(child, ast.stmt):
                    yield child


def copied(node: Node) -> Node:
    """A copy of a tree that was parsed, in a fifth of the time of ``copy.deepcopy``.

    Nodes without fields (``Load``, ``Add``) are the same in the copy, as they are in all trees of the parser.
    """
    if not node._fields:
        return node
    made = node.__new__(type(node))
    vars(made).update((name, _copied(value)) for name, value in vars(node).items())
    return made


def _copied(value: object) -> object:
    if isinstance(value, ast.AST):
        return copied(value)
    return [_copied(item) for item in value] if isinstance(value, list) else value
