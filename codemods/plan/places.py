"""Where in a text something can be put: behind the last argument, behind the last parameter, for a subscript."""

from __future__ import annotations

import ast
import io
import tokenize
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


def behind_arguments(source: Source, call: ast.Call) -> tuple[int, str]:
    """The offset behind the last argument of a call, and what must stand between it and a further one."""
    *_, last, _close = tokens(source, *source.span(call))
    return last.end, {"(": "", ",": " "}.get(last.text, ", ")


def behind_parameters(source: Source, function: ast.FunctionDef) -> tuple[int, str, str]:
    """The offset behind the last parameter that has a position, and what must stand before and behind a further one."""
    start = source.offset(function.lineno, function.col_offset)
    header = tokens(source, start, _end_of_header(source, function))
    first = next(n for n, token in enumerate(header) if token.text == "(")
    arguments = positional_parameters(function)
    if not arguments:
        others = function.args.vararg or function.args.kwonlyargs or function.args.kwarg
        return header[first].end, "", ", " if others else ""
    at = source.offset(arguments[-1].lineno, arguments[-1].col_offset)
    depth = 0
    before = header[first]
    for token in header[first + 1 :]:
        if token.start > at and depth == 0 and token.text in (",", ")"):
            break
        depth += (token.text in "([{") - (token.text in ")]}")
        before = token
    return before.end, ", ", ""


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
