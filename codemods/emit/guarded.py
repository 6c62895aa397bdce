"""Statements under one guard, one after the other, share one ``if``.

A declaration between them, which runs whatever the guard says, stands before the ``if``: an author allocates what an
``if`` computes in front of it. The comments above it go with what is computed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

import libcst as cst

from ..syntax.comments import Statement, comment_lines, lines_above
from .parsed_statements import Written


def append(result: list[Statement], statement: Statement, guards: Mapping[int, str]) -> None:
    """Append a statement to those of a block. ``guards`` are the texts of the guards, by the ``id`` of the tests."""
    guard = _guard(statement, guards)
    at = len(result)
    while guard and at and _is_declaration(result[at - 1]):
        at -= 1
    last = result[at - 1] if at else None
    declared = result[at:]
    if (
        not isinstance(statement, cst.If)
        or not isinstance(last, cst.If)
        or _guard(last, guards) != guard
        or not guard
        or (declared and not _may_move(declared, last))
    ):
        result.append(statement)
    else:
        comments = [line for each in declared for line in comment_lines(each)]
        moved = [each.with_changes(leading_lines=[]) for each in declared]
        if moved:
            moved[0] = moved[0].with_changes(leading_lines=lines_above(last))
            last = last.with_changes(leading_lines=[])
        statement = statement.with_changes(leading_lines=[*comments, *statement.leading_lines])
        result[at - 1 :] = [*moved, _joined(last, statement)]


def _guard(statement: Statement, guards: Mapping[int, str]) -> str:
    return guards.get(id(statement.test), "") if isinstance(statement, cst.If) else ""


def _is_declaration(statement: Statement) -> bool:
    """Is it ``name = nl.ndarray(...)``, without an address?"""
    match _tree(statement):
        case ast.Assign(targets=[ast.Name()], value=ast.Call(func=ast.Attribute(attr="ndarray")) as call):
            trailing = statement.trailing_whitespace if isinstance(statement, cst.SimpleStatementLine) else None
            is_pinned = any(keyword.arg == "address" for keyword in call.keywords)
            return not is_pinned and trailing is not None and trailing.comment is None
    return False


def _tree(statement: cst.BaseStatement) -> ast.stmt | None:
    """What a line says, if it is one simple statement."""
    if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1:
        return None
    [only] = statement.body
    return only.node if isinstance(only, Written) else ast.parse(_text(only)).body[0]


def _may_move(declared: list[Statement], guarded: cst.If) -> bool:
    """May declarations stand before what is guarded: does that only call functions, and not with their names?"""
    assert isinstance(guarded.body, cst.IndentedBlock)
    calls = all(isinstance(_tree(line), ast.Expr) for line in guarded.body.body)
    names = {_name(each) for each in declared}
    return calls and len(names) == len(declared) and names.isdisjoint(re.findall(r"\w+", _text(guarded)))


def _name(declaration: Statement) -> str:
    assign = _tree(declaration)
    assert isinstance(assign, ast.Assign) and isinstance(assign.targets[0], ast.Name)
    return assign.targets[0].id


def _text(node: cst.CSTNode) -> str:
    return cst.Module([]).code_for_node(node)


def _joined(first: cst.If, second: cst.If) -> cst.If:
    """One ``if`` with the bodies of two that have the same test."""
    assert isinstance(first.body, cst.IndentedBlock) and isinstance(second.body, cst.IndentedBlock)
    head, *rest = second.body.body
    head = head.with_changes(leading_lines=[*second.leading_lines, *lines_above(head)])
    return first.with_changes(body=first.body.with_changes(body=[*first.body.body, head, *rest]))
