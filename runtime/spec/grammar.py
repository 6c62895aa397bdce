"""Python's grammar as its syntax trees show it: which nodes stand below a node, and copies of a node with all below.

:func:`ast.iter_child_nodes` asks each field of each node what it holds. The grammar tells once which may hold nodes.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from typing import TypeVar

Node = TypeVar("Node", bound=ast.AST)

_NO_NODES = frozenset({"identifier", "string", "constant", "int", "expr_context"})
_WITH_GAPS = frozenset({(ast.Dict, "keys"), (ast.arguments, "kw_defaults")})
"""The fields that hold ``None`` where something is absent: ``{**other}``, a keyword without a default."""
_STATEMENTS = frozenset({"stmt", "excepthandler", "match_case"})


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes right below one, as :func:`ast.iter_child_nodes` gives them but for contexts."""
    found: list[ast.AST] = []
    for name, many, optional in _fields(type(node)):  # type: ignore[arg-type]  # mypy asks an object's hash of its class
        value = getattr(node, name, None)
        if not many:
            if value is not None:
                found.append(value)
        elif value:
            found += [item for item in value if item is not None] if optional else value
    return found


def nodes_of(node: ast.AST) -> list[ast.AST]:
    """``node`` and all nodes below it, breadth first, as :func:`ast.walk` gives them but for contexts."""
    nodes = [node]
    add = nodes.append
    for each in nodes:  # grows as it is read: breadth first. As in :func:`children`, without a call for each node
        for name, many, optional in _fields(type(each)):  # type: ignore[arg-type]  # as above
            value = getattr(each, name, None)
            if not many:
                if value is not None:
                    add(value)
            elif value:
                nodes += [item for item in value if item is not None] if optional else value
    return nodes


def statements(tree: ast.AST) -> Iterator[ast.stmt]:
    """All statements below ``tree``, those inside of others, too; no expression is looked into."""
    nodes = blocks(tree)
    for node in nodes:  # grows as it is read: breadth first
        nodes += blocks(node)
        if isinstance(node, ast.stmt):
            yield node


def blocks(node: ast.AST) -> list[ast.AST]:
    """The statements right below a node, and what holds more of them: the handlers and the cases."""
    found: list[ast.AST] = []
    for name in _block_fields(type(node)):  # type: ignore[arg-type]  # as above
        found += getattr(node, name)
    return found


def copied(node: Node) -> Node:
    """A copy of a tree that was parsed, in a fifth of the time of ``copy.deepcopy``.

    Nodes that say nothing but what they are (``Load``, ``Add``) are the same in the copy, as the parser has it.
    """
    if not node._fields and not node._attributes:
        return node
    made = node.__new__(type(node))
    vars(made).update((name, _copied(value)) for name, value in vars(node).items())
    return made


def _copied(value: object) -> object:
    if isinstance(value, ast.AST):
        return copied(value)
    return [_copied(item) for item in value] if isinstance(value, list) else value


@cache
def _fields(kind: type[ast.AST]) -> tuple[tuple[str, bool, bool], ...]:
    """The fields of a kind of node that hold nodes: does each hold many, and may some of these be absent?"""
    types = _types(kind)
    names = [name for name in kind._fields if types[name].rstrip("?*") not in _NO_NODES]
    return tuple((name, types[name].endswith("*"), (kind, name) in _WITH_GAPS) for name in names)


@cache
def _block_fields(kind: type[ast.AST]) -> tuple[str, ...]:
    types = _types(kind)
    return tuple(name for name in kind._fields if types[name].rstrip("?*") in _STATEMENTS)


def _types(kind: type[ast.AST]) -> dict[str, str]:
    """What each field of a kind of node holds, as its grammar says, which is its documentation: ``expr*``."""
    return {name: type for type, name in re.findall(r"(\w+[?*]?) (\w+)", kind.__doc__ or "")}
