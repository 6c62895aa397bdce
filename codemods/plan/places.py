"""Where in a text something can be put: behind the last argument, behind the last parameter, for a subscript."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Sequence
from dataclasses import dataclass

from ..syntax.nodes import positional_parameters
from ..syntax.source import Source

_NO_CODE = {tokenize.NL, tokenize.COMMENT, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


@dataclass(frozen=True)
class Token:
    """A token of code: its text, and its character offsets in the module."""

    text: str
    start: int
    end: int


def tokens(source: Source, start: int, end: int) -> list[Token]:
    """The tokens of characters ``[start, end)``, which are an expression, or a part of one, with all its brackets."""
    text = f"({source.text[start:end]})"
    lines = [0]
    for line in text.split("\n"):
        lines.append(lines[-1] + len(line) + 1)
    found = [
        Token(t.string, lines[t.start[0] - 1] + t.start[1] + start - 1, lines[t.end[0] - 1] + t.end[1] + start - 1)
        for t in tokenize.generate_tokens(io.StringIO(text).readline)
        if t.type not in _NO_CODE
    ]
    return found[1:-1]


def further_arguments(source: Source, call: ast.Call, texts: Sequence[str]) -> tuple[int, str]:
    """Where further arguments of a call go, and their text: they are on lines of their own where the last one is."""
    *_, before, last, _close = tokens(source, *source.span(call))
    if last.text == "(":
        return last.end, ", ".join(texts)
    given: list[ast.expr | ast.keyword] = [*call.args, *call.keywords]
    start = max((each.lineno, each.col_offset) for each in given)
    return _behind(source, source.offset(*start), before if last.text == "," else last, texts)


def further_parameters(source: Source, function: ast.FunctionDef, texts: Sequence[str]) -> tuple[int, str]:
    """Where further parameters go, behind the last that has a position, and their text, as of further arguments."""
    start = source.offset(function.lineno, function.col_offset)
    header = tokens(source, start, _end_of_header(source, function))
    first = next(n for n, token in enumerate(header) if token.text == "(")
    arguments = positional_parameters(function)
    if not arguments:
        others = function.args.vararg or function.args.kwonlyargs or function.args.kwarg
        return header[first].end, ", ".join(texts) + (", " if others else "")
    at = source.offset(arguments[-1].lineno, arguments[-1].col_offset)
    depth = 0
    before = header[first]
    for token in header[first + 1 :]:
        if token.start > at and depth == 0 and token.text in (",", ")"):
            break
        depth += (token.text in "([{") - (token.text in ")]}")
        before = token
    return _behind(source, at, before, texts)


def _behind(source: Source, start: int, last: Token, texts: Sequence[str]) -> tuple[int, str]:
    """The place and the text of what goes behind an element that begins at ``start``, and ends with ``last``."""
    text = source.text
    lead = text[text.rfind("\n", 0, start) + 1 : start]
    line_end = text.find("\n", last.end)
    rest = text[last.end : line_end if line_end >= 0 else len(text)]
    is_alone, is_commented = not lead.strip(), rest.lstrip(", ").startswith("#")
    if is_alone and not is_commented:
        return last.end, "".join(f",\n{lead}{each}" for each in texts)
    if is_alone and rest.startswith(","):  # its comment stays beside it
        return last.end + len(rest), "".join(f"\n{lead}{each}," for each in texts)
    return last.end, "".join(f", {each}" for each in texts)


def _end_of_header(source: Source, function: ast.FunctionDef) -> int:
    """The offset behind the bracket that closes a function's parameters."""
    start = source.offset(function.lineno, function.col_offset)
    text, depth = source.text[start:], 0
    lines = [0]
    for line in text.split("\n"):
        lines.append(lines[-1] + len(line) + 1)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.OP and token.string in "()":
            depth += 1 if token.string == "(" else -1
            if depth == 0:
                return start + lines[token.end[0] - 1] + token.end[1]
    raise AssertionError("a function without parameters' brackets")


def brackets(source: Source, subscript: ast.Subscript) -> tuple[int, int]:
    """The offsets of ``[...]``, with its brackets."""
    depth = 0
    start, end = source.span(subscript)
    for token in reversed(tokens(source, start, end)):
        depth += (token.text == "]") - (token.text == "[")
        if depth == 0:
            return token.start, end
    raise AssertionError("a subscript without brackets")
