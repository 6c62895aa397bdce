"""Statements that a rewrite adds: where they go, and names for what they make."""

from __future__ import annotations

import ast

from ..syntax.drafts import Edit
from .rung import Rung


def is_own_statement(rung: Rung, call: ast.Call) -> ast.Expr | None:
    """The statement that is nothing but ``call``, on lines of its own."""
    above = rung.parents.get(call)
    return above if isinstance(above, ast.Expr) and rung.stands_alone(above) else None


def lines_before(rung: Rung, statement: ast.stmt, *lines: str) -> Edit:
    """Lines in front of a statement that stands alone, as far indented."""
    start = rung.start(statement)
    margin = rung.text[rung.text.rfind("\n", 0, start) + 1 : start]
    return Edit(start, start, "".join(f"{line}\n{margin}" for line in lines))


def free_name(rung: Rung, stem: str) -> str:
    """``stem``, or ``stem_1``, ``stem_2``, ...: a name that the file uses for nothing."""
    name, number = stem, 0
    while not rung.is_free(name):
        number += 1
        name = f"{stem}_{number}"
    return name


def root_name(node: ast.expr) -> str:
    """The name that an access to a tensor begins with; ``tile`` where there is none."""
    while isinstance(node, (ast.Subscript, ast.Attribute, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else "tile"
