"""The arguments of a call in its text: where each one stands, with its brackets, and edits that keep all others."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Sequence
from dataclasses import dataclass

from .drafts import Edit, Sheet

_OPEN, _CLOSE = "([{", ")]}"


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


def call_text(sheet: Sheet, call: ast.Call) -> CallText | None:
    """The arguments of ``call`` in its text; ``None`` where ``*`` or ``**`` hide what stands where."""
    if any(isinstance(each, ast.Starred) for each in call.args) or any(each.arg is None for each in call.keywords):
        return None
    start = sheet.end(call.func)
    text = sheet.text[start : sheet.end(call)]
    opening = text.index("(") + 1
    spans = _spans(text)
    nodes: list[ast.expr | ast.keyword] = [*call.args, *call.keywords]
    values: list[tuple[str, ast.expr]] = [
        (node.arg or "", node.value) if isinstance(node, ast.keyword) else ("", node) for node in nodes
    ]
    if len(spans) != len(values):
        return None
    order = sorted(values, key=lambda item: sheet.start(item[1]))
    found = [
        Argument(start + begin, start + end, keyword, value)
        for (begin, end), (keyword, value) in zip(spans, order, strict=True)
    ]
    return CallText(sheet, call, tuple(found), start + opening)


def _spans(text: str) -> list[tuple[int, int]]:
    """Where the arguments stand in the text of a call from its bracket on, without commas, blanks and comments."""
    lines = [0]
    for line in text.split("\n"):
        lines.append(lines[-1] + len(line) + 1)
    spans: list[tuple[int, int]] = []
    depth, begin, end = 0, -1, -1
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT, tokenize.ENDMARKER):
            continue
        start, stop = lines[token.start[0] - 1] + token.start[1], lines[token.end[0] - 1] + token.end[1]
        if token.type == tokenize.OP and token.string in _CLOSE:
            depth -= 1
        if depth == 0 and begin >= 0:
            spans.append((begin, end))
            return spans
        if depth == 1 and token.type == tokenize.OP and token.string == ",":
            spans.append((begin, end))
            begin = -1
        elif depth >= 1:
            begin = start if begin < 0 else begin
            end = stop
        elif spans or token.string == ")":
            return spans
        if token.type == tokenize.OP and token.string in _OPEN:
            depth += 1
    return spans


def by_name(call: ast.Call, parameters: Sequence[str]) -> dict[str, ast.expr] | None:
    """The arguments of ``call``; ``None`` where ``*`` or ``**`` or too many hide which is which."""
    if any(isinstance(each, ast.Starred) for each in call.args) or any(each.arg is None for each in call.keywords):
        return None
    if len(call.args) > len(parameters):
        return None
    found: dict[str, ast.expr] = dict(zip(parameters, call.args, strict=False))
    for keyword in call.keywords:
        if keyword.arg is None or keyword.arg in found:
            return None
        found[keyword.arg] = keyword.value
    return found
