"""Statements with a value that a condition chooses, as an ``if``: ``y = nl.add(x, b) if b is not None else x``.

An instruction of Beta 2 is a statement, which cannot stand in one side of an expression. ``transpose_x=flag`` decides
which instructions a product is, and is a choice of ``True`` or ``False``. Only statements that would be left alone are
written so: a choice between two numbers, types or whole tensors stays one.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterator, Mapping

from ..expr.emission import Misplaced, Refuse
from ..syntax.codes import LANGUAGE as CODE
from ..syntax.node_index import children, of_kinds, walk
from ..syntax.source import Source
from .edited_text import EditedText
from .line_origins import Edit, comments, definitions_around, edited, inside_strings, lines_of, margin_of

_STATEMENTS = (ast.Assign, ast.AugAssign, ast.Expr, ast.Return)
_LATE = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.BoolOp, ast.JoinedStr)
"""What may evaluate a part of it never, or several times."""
_DECIDING = ("transpose_x",)
"""Truths that decide which instructions a call is."""
_TOLD = (ast.Constant, ast.IfExp)
_PLAIN = (ast.Name, ast.Constant, ast.Attribute, ast.Compare, ast.BoolOp, ast.UnaryOp, ast.BinOp)
_KINDS = (*_PLAIN, ast.expr_context, ast.cmpop, ast.boolop, ast.unaryop, ast.operator)


def may_help(statement: ast.stmt, refusal: Refuse) -> bool:
    """Might a statement that was refused be rewritten as an ``if``, which chooses what a part of it does?

    Not where its condition is refused, or what stands in one of its sides, wherever that stands.
    """
    side: ast.expr | None = _choice(statement)
    while isinstance(side, ast.IfExp):
        if side is refusal.node:
            return True
        if _holds(side.test, refusal.node):
            return False
        if _holds(side.body, refusal.node):
            return isinstance(refusal, Misplaced)
        side = side.orelse
    return side is not None and (isinstance(refusal, Misplaced) or not _holds(side, refusal.node))


def _holds(part: ast.expr, node: ast.AST) -> bool:
    return any(each is node for each in walk(part))


def branched(sources: Mapping[str, Source], places: Mapping[str, Collection[int]]) -> dict[str, EditedText]:
    """Modules by path, with the statements at these 1-based lines as an ``if`` where they can be one."""
    return {path: _branched(source, places.get(path, ())) for path, source in sources.items()}


def _branched(source: Source, lines: Collection[int]) -> EditedText:
    if not lines:
        return EditedText(lines_of(source.text))
    edits: dict[ast.stmt, Edit] = {}
    touched: set[str] = set()
    for function in of_kinds(source.tree, ast.FunctionDef):
        indent = " " * (function.body[0].col_offset - function.col_offset)
        for statement in (n for n in of_kinds(function, ast.stmt) if isinstance(n, _STATEMENTS)):
            choice = _choice(statement) if statement.lineno in lines and statement not in edits else None
            if choice is not None and _stands_alone(source, statement):
                edits[statement] = _edit(source, statement, choice, indent)
                touched |= definitions_around(source, statement)
    applied = Counter({CODE: len(edits)}) if edits else Counter()
    return EditedText(edited(source, edits.values()), [], applied, touched)


def _choice(statement: ast.stmt) -> ast.IfExp | None:
    """The outermost choice of a simple statement, whose condition may be evaluated before all else in it.

    That is so where the choice is the value, or where its condition calls nothing and nothing is called before it.
    """
    if not isinstance(statement, _STATEMENTS) or any(isinstance(n, ast.NamedExpr) for n in walk(statement)):
        return None
    if isinstance(statement, ast.Assign) and len(statement.targets) > 1:
        return None
    if isinstance(statement.value, ast.IfExp):
        return statement.value
    found = next(_choices(statement.value), None) if statement.value is not None else None  # targets come behind it
    if found is None or not all(isinstance(n, _KINDS) for n in walk(found.test)):
        return None
    return None if any(_end(call) <= _start(found) for call in of_kinds(statement, ast.Call)) else found


def _start(node: ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _end(node: ast.expr) -> tuple[int, int]:
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset


def _choices(node: ast.AST) -> Iterator[ast.IfExp]:
    for child in children(node):
        if isinstance(child, ast.IfExp):
            yield child
        elif isinstance(child, ast.keyword) and child.arg in _DECIDING and not isinstance(child.value, _TOLD):
            yield ast.copy_location(ast.IfExp(child.value, ast.Constant(True), ast.Constant(False)), child.value)
        elif not isinstance(child, _LATE):
            yield from _choices(child)


def _stands_alone(source: Source, statement: ast.stmt) -> bool:
    """Are the lines of a statement its own, and are there no comments and no long strings inside it?"""
    start, end = source.span(statement)
    behind = source.text[end:].partition("\n")[0].strip()
    own = not margin_of(source, statement).strip() and (not behind or behind.startswith("#"))
    inside = range(statement.lineno + 1, (statement.end_lineno or statement.lineno) + 1)
    return own and not comments(source.text[start:end]) and inside_strings(source.text).isdisjoint(inside)


def _edit(source: Source, statement: ast.stmt, choice: ast.IfExp, indent: str) -> Edit:
    """The statement as an ``if``, with a copy of it for each side that does something."""
    start, end = source.span(statement)
    line_end = source.text.find("\n", end)
    margin = margin_of(source, statement)
    sides: list[tuple[str, ast.expr]] = []
    side: ast.expr = choice
    while isinstance(side, ast.IfExp):
        sides.append((_one_line(source, side.test), side.body))
        side = side.orelse
    if len(sides) == 1 and _is_bound(statement, sides[0][1]):
        sides = [(f"not ({sides[0][0]})", side)]
    elif not _is_bound(statement, side):
        sides.append(("", side))
    lines = []
    for number, (test, value) in enumerate(sides):
        word = "if" if not number else "elif" if test else "else"
        lines += [
            f"{word} {test}:" if test else f"{word}:",
            f"{indent}{_with(source, statement, choice, value, indent)}",
        ]
    return Edit(start, len(source.text) if line_end < 0 else line_end, f"\n{margin}".join(lines))


def _is_bound(statement: ast.stmt, side: ast.expr) -> bool:
    """Is a side of the choice that a statement assigns the name that it binds, which then stays what it is?"""
    if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.IfExp):
        return False
    target = statement.targets[0]
    return isinstance(target, ast.Name) and isinstance(side, ast.Name) and target.id == side.id


def _with(source: Source, statement: ast.stmt, choice: ast.IfExp, side: ast.expr, indent: str) -> str:
    """The text of a statement with one side in place of the choice, one step further to the right."""
    (start, end), (first, last) = source.span(statement), source.span(choice)
    before, behind = source.text[start:first], source.text[last:end]
    is_whole = getattr(statement, "value", None) is choice
    if is_whole and before.rstrip().endswith("(") and behind.lstrip().startswith(")"):
        before, behind = f"{before.rstrip()[:-1].rstrip()} ", behind.lstrip()[1:]
    text = _one_line(source, side) if is_whole else _text(source, side)
    return f"{before}{text}{behind}".replace("\n", f"\n{indent}")


def _one_line(source: Source, node: ast.expr) -> str:
    """The text of an expression that nothing else holds together over several lines."""
    text = _text(source, node)
    return f"({text})" if "\n" in text else text


def _text(source: Source, node: ast.expr) -> str:
    return source.segment(node) if hasattr(node, "lineno") else ast.unparse(node)
