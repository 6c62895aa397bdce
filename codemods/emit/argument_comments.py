"""Comments beside the arguments of a call, on their way to the arguments of the call that replaces it.

``f(a,  # stationary`` and the line below it say something of ``a``. The call that a rule writes has other keywords in
another order: an argument is found again by its keyword, or by the name that it begins with, where no other argument of
either call has it. A comment that is not found again stands above the new statement, as all others do.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace

import libcst as cst

from ..expr.emission import New
from ..syntax.comments import Statement, is_directive
from ..syntax.line_breaks import by_arguments
from ..syntax.nodes import root_of


@dataclass(frozen=True, eq=False)
class ArgumentComment:
    """The comment behind an argument (or above it), and what says which argument that is."""

    comment: cst.Comment
    keys: tuple[str, ...]
    is_above: bool


class ArgumentComments:
    """The comments beside the arguments of an old call: those that found theirs in a new one are ``placed``."""

    def __init__(self, node: Statement) -> None:
        self._waiting = _found(node)
        self.placed: list[cst.Comment] = []

    def given(self, new: New, width: int) -> New:
        """A new statement, in ``width`` columns, with the comments of its arguments, each on lines of its own.

        A comment that an argument leaves no room for stands above it.
        """
        parts = by_arguments(new.text, width) if self._waiting and not new.as_is else []
        if not parts:
            return new
        taken = self._taken(new.text)
        if not taken:
            return new
        head, *arguments, tail = parts
        body = [_with_comments(lines, taken[number], width) for number, lines in enumerate(arguments)]
        return replace(new, text="\n".join([*head, *(line for lines in body for line in lines), *tail, ""]), as_is=True)

    def _taken(self, text: str) -> Mapping[int, list[ArgumentComment]]:
        """The comments that a new call takes, by the places of its arguments; they wait no more."""
        call = next(node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call))
        own = [_keys("", each) for each in call.args] + [_keys(each.arg or "", each.value) for each in call.keywords]
        taken: dict[int, list[ArgumentComment]] = defaultdict(list)
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            meant = [number for number, keys in enumerate(own) if set(keys) & set(each.keys)]
            if len(meant) == 1:
                taken[meant[0]].append(each)
                self.placed.append(each.comment)
            else:
                self._waiting.append(each)
        return taken


def _with_comments(lines: list[str], comments: list[ArgumentComment], width: int) -> list[str]:
    """The lines of an argument with its comments: behind it where there is room, else above."""
    above: list[str] = []
    for each in comments:
        behind = f"{lines[-1]}  {each.comment.value}"
        if each.is_above or len(behind) > width:
            above.append(f"    {each.comment.value}")
        else:
            lines = [*lines[:-1], behind]
    return [*above, *lines]


def _found(node: Statement) -> list[ArgumentComment]:
    """The comments that stand beside the arguments of the outermost call of a statement."""
    call = _outermost_call(node)
    if call is None:
        return []
    keys = _own_keys(call)
    gaps = [call.whitespace_before_args, *(_behind(arg) for arg in call.args)]
    found = [each for number, gap in enumerate(gaps) for each in _in_gap(gap, number, keys)]
    end = node.trailing_whitespace.comment if isinstance(node, cst.SimpleStatementLine) else None
    is_last = not isinstance(gaps[-1], cst.ParenthesizedWhitespace)
    if end is not None and is_last and any(not each.is_above for each in found):
        found.append(ArgumentComment(end, keys[-1], is_above=False))
    return [each for each in found if each.keys and not is_directive(each.comment.value)]


def _own_keys(call: cst.Call) -> list[tuple[str, ...]]:
    """What each argument may be found by, and no other one."""
    keys = [_keys(arg.keyword.value if arg.keyword else "", _parsed(arg.value)) for arg in call.args]
    counts = Counter(key for each in keys for key in each)
    return [tuple(key for key in each if counts[key] == 1) for each in keys]


def _in_gap(gap: cst.BaseParenthesizableWhitespace, number: int, keys: list[tuple[str, ...]]) -> list[ArgumentComment]:
    """The comments between argument ``number - 1`` and argument ``number``: behind the one, and above the other."""
    if not isinstance(gap, cst.ParenthesizedWhitespace):
        return []
    behind = gap.first_line.comment
    found = [ArgumentComment(behind, keys[number - 1], is_above=False)] if behind is not None and number else []
    if number < len(keys):
        above = [line.comment for line in gap.empty_lines if line.comment is not None]
        found += [ArgumentComment(comment, keys[number], is_above=True) for comment in above]
    return found


def _outermost_call(node: Statement) -> cst.Call | None:
    """The call that a statement is, or whose result it assigns."""
    if not isinstance(node, cst.SimpleStatementLine) or len(node.body) != 1:
        return None
    small = node.body[0]
    value = small.value if isinstance(small, cst.Expr | cst.Assign | cst.AugAssign | cst.AnnAssign) else None
    return value if isinstance(value, cst.Call) else None


def _behind(argument: cst.Arg) -> cst.BaseParenthesizableWhitespace:
    comma = argument.comma
    return comma.whitespace_after if isinstance(comma, cst.Comma) else argument.whitespace_after_arg


def _parsed(value: cst.BaseExpression) -> ast.expr:
    return ast.parse(cst.Module([]).code_for_node(value).strip(), mode="eval").body


def _keys(keyword: str, value: ast.expr) -> tuple[str, ...]:
    """What an argument may be found by: its keyword, and the name that it begins with, or all of it for a number."""
    root = root_of(value)
    name = ast.unparse(value) if isinstance(value, ast.Constant | ast.Attribute) else root.id if root else ""
    return tuple(key for key in (f"{keyword}=" if keyword else "", name) if key)
