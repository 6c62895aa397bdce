"""The arguments of a call in its text: where each one stands, with its brackets, and edits that keep all others."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from .drafts import Edit, Sheet


@dataclass(frozen=True)
class Argument:
    """One argument: its characters ``[start, end)``, its keyword (empty for one by position), and its value."""

    start: int
    end: int
    keyword: str
    value: ast.expr


@dataclass(frozen=True)
class CallText:
    """The text of one call: its arguments in the order of the text, and where the brackets begin and end."""

    sheet: Sheet
    call: ast.Call
    arguments: tuple[Argument, ...]
    opening: int

    def named(self, keyword: str) -> Argument | None:
        """The argument with this keyword."""
        return next((each for each in self.arguments if each.keyword == keyword), None)

    def text(self, argument: Argument) -> str:
        """The text of an argument's value, with the brackets that are around it."""
        text = self.sheet.text[argument.start : argument.end]
        return text.split("=", 1)[1].strip() if argument.keyword else text

    def keyword_added(self, text: str, order: int = 0) -> Edit:
        """One more argument behind the others."""
        if not self.arguments:
            return Edit(self.opening, self.opening, text, order)
        end = self.arguments[-1].end
        return Edit(end, end, f", {text}", order)

    def renamed(self, argument: Argument, keyword: str) -> Edit:
        """An argument under another keyword; one by position gets one."""
        if not argument.keyword:
            return Edit(argument.start, argument.start, f"{keyword}=")
        return Edit(argument.start, argument.start + len(argument.keyword), keyword)

    def value_replaced(self, argument: Argument, text: str) -> Edit:
        """An argument with another value."""
        keyword = f"{argument.keyword}=" if argument.keyword else ""
        return Edit(argument.start, argument.end, f"{keyword}{text}")

    def removed(self, argument: Argument) -> Edit | None:
        """The edit that takes an argument and its comma away; ``None`` where a comment would go with it."""
        at = self.arguments.index(argument)
        if at:
            start, end = self.arguments[at - 1].end, argument.end
        elif len(self.arguments) > 1:
            start, end = argument.start, self.arguments[1].start
        else:
            start, end = argument.start, self.sheet.end(self.call) - 1
        return None if "#" in self.sheet.text[start:end] else Edit(start, end, "")


def hides_arguments(call: ast.Call) -> bool:
    """Do ``*`` or ``**`` hide which argument is which?"""
    return any(isinstance(each, ast.Starred) for each in call.args) or any(each.arg is None for each in call.keywords)


def call_text(sheet: Sheet, call: ast.Call) -> CallText | None:
    """The arguments of ``call`` in its text; ``None`` where ``*`` or ``**`` hide what stands where."""
    if hides_arguments(call):
        return None
    end = sheet.end(call.func)
    opening = sheet.text.index("(", end) + 1
    given: list[ast.expr | ast.keyword] = [*call.args, *call.keywords]
    nodes = sorted(given, key=sheet.start)
    spans = _spans(sheet, nodes, opening, sheet.end(call) - 1)
    found = [
        (
            Argument(begin, stop, node.arg or "", node.value)
            if isinstance(node, ast.keyword)
            else Argument(begin, stop, "", node)
        )
        for (begin, stop), node in zip(spans, nodes, strict=True)
    ]
    return CallText(sheet, call, tuple(found), opening)


def _spans(
    sheet: Sheet, nodes: Sequence[ast.expr | ast.keyword], opening: int, closing: int
) -> Iterator[tuple[int, int]]:
    """Where each argument stands, with the brackets around it; the call's own are at ``opening`` and ``closing``.

    Between two arguments are brackets, one comma, blanks and comments, nothing else. A generator alone has the
    brackets of the call for its own.
    """
    if len(nodes) == 1 and sheet.start(nodes[0]) < opening:
        text = sheet.text[opening:closing]
        yield closing - len(text.lstrip()), opening + len(text.rstrip())
        return
    begin = opening
    for node, following in zip_longest(nodes, nodes[1:]):
        end = sheet.end(node)
        gap = _without_comments(sheet.text[begin : sheet.start(node)])
        start = begin + (gap + "(").index("(")
        gap = _without_comments(sheet.text[end : closing if following is None else sheet.start(following)])
        comma = (gap + ",").index(",")
        yield start, end + gap.rfind(")", 0, comma) + 1
        begin = end + comma + 1


def _without_comments(text: str) -> str:
    """A text of the same length with blanks for comments."""
    return re.sub("#[^\n]*", lambda found: " " * len(found[0]), text) if "#" in text else text


def by_name(call: ast.Call, parameters: Sequence[str]) -> dict[str, ast.expr] | None:
    """The arguments of ``call``; ``None`` where ``*`` or ``**`` or too many hide which is which."""
    if hides_arguments(call):
        return None
    if len(call.args) > len(parameters):
        return None
    found: dict[str, ast.expr] = dict(zip(parameters, call.args, strict=False))
    for keyword in call.keywords:
        if keyword.arg is None or keyword.arg in found:
            return None
        found[keyword.arg] = keyword.value
    return found
