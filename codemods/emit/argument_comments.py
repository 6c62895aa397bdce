"""Comments beside the arguments of a call, on their way to the arguments of the call that replaces it.

``f(a,  # stationary`` and the line below it say something of ``a``. The call that a rule writes has other keywords in
another order: an argument is found again by its keyword, or by the name that it begins with, where no other argument of
either call has it. A comment that is not found again stands above the new statement, as all others do.
"""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import dataclass, replace

import libcst as cst

from ..expr.emission import New
from ..syntax.comments import Statement, is_directive
from ..syntax.line_breaks import by_arguments
from ..syntax.nodes import root_of


@dataclass(frozen=True)
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
        call = next(node for node in ast.walk(ast.parse(new.text)) if isinstance(node, ast.Call))
        own = [_keys("", each) for each in call.args] + [_keys(each.arg or "", each.value) for each in call.keywords]
        head, *arguments, tail = parts
        above: list[list[str]] = [[] for _ in arguments]
        waiting: list[ArgumentComment] = []
        for each in self._waiting:
            meant = [number for number, keys in enumerate(own) if set(keys) & set(each.keys)]
            if len(meant) != 1:
                waiting.append(each)
                continue
            lines, comment = arguments[meant[0]], each.comment.value
            if each.is_above or len(lines[-1]) + len(comment) + 2 > width:
                above[meant[0]].append(f"    {comment}")
            else:
                lines[-1] += f"  {comment}"
            self.placed.append(each.comment)
        if len(waiting) == len(self._waiting):
            return new
        self._waiting = waiting
        body = [line for lines in zip(above, arguments, strict=True) for part in lines for line in part]
        return replace(new, text="\n".join([*head, *body, *tail]) + "\n", as_is=True)


def _found(node: Statement) -> list[ArgumentComment]:
    """The comments that stand beside the arguments of the outermost call of a statement."""
    call = _outermost_call(node)
    if call is None:
        return []
    keys = [_keys(arg.keyword.value if arg.keyword else "", _parsed(arg.value)) for arg in call.args]
    found: list[ArgumentComment] = []
    gaps = [call.whitespace_before_args, *(_behind(arg) for arg in call.args)]
    for number, gap in enumerate(gaps):
        if not isinstance(gap, cst.ParenthesizedWhitespace):
            continue
        behind = gap.first_line.comment
        if behind is not None and number:
            found.append(ArgumentComment(behind, keys[number - 1], is_above=False))
        if number < len(keys):
            above = [line.comment for line in gap.empty_lines if line.comment is not None]
            found += [ArgumentComment(comment, keys[number], is_above=True) for comment in above]
    end = node.trailing_whitespace.comment if isinstance(node, cst.SimpleStatementLine) else None
    if end is not None and any(not each.is_above for each in found) and not _is_broken(gaps[-1]):
        found.append(ArgumentComment(end, keys[-1], is_above=False))
    shared = {key for key, count in Counter(key for each in keys for key in each).items() if count > 1}
    own = [ArgumentComment(c.comment, tuple(k for k in c.keys if k not in shared), c.is_above) for c in found]
    return [c for c in own if c.keys and not is_directive(c.comment.value)]


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


def _is_broken(gap: cst.BaseParenthesizableWhitespace) -> bool:
    """Does the bracket that closes the call stand on another line than its last argument?"""
    return isinstance(gap, cst.ParenthesizedWhitespace)


def _parsed(value: cst.BaseExpression) -> ast.expr:
    return ast.parse(cst.Module([]).code_for_node(value).strip(), mode="eval").body


def _keys(keyword: str, value: ast.expr) -> tuple[str, ...]:
    """What an argument may be found by: its keyword, and the name that it begins with, or all of it for a number."""
    root = root_of(value)
    name = ast.unparse(value) if isinstance(value, ast.Constant | ast.Attribute) else root.id if root else ""
    return tuple(key for key in (f"{keyword}=" if keyword else "", name) if key)
