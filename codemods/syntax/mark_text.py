"""The text of the marks that the tool leaves in a file; :mod:`..emit.marks` says of what, and where they stand."""

from __future__ import annotations

import ast
import re

WORD = "nki-migrate NK"
"""What every mark has, as text."""

MARK = re.compile(r"nki-migrate (NK[A-Z]\d+): (.*)")
"""A mark, with the code and the message of its finding."""


WHOLE = " (nothing of this function is rewritten)"
"""How a mark ends that stands at the top of a function of which nothing is rewritten."""

_LINE = re.compile(r'\s*(?:# |assert False, ")nki-migrate NK[A-Z]\d+: ')


def without_marks(text: str) -> str:
    """A text without the lines that are nothing but a mark."""
    return "\n".join(line for line in text.split("\n") if not _LINE.match(line))


def is_comment_mark(line: str) -> bool:
    """Is a line a comment that marks the statement below it?"""
    return _LINE.match(line) is not None and line.lstrip().startswith("#")


def mark_of(code: str, message: str) -> str:
    """What a mark says of a finding."""
    return f"nki-migrate {code}: {' '.join(message.split())}"


def is_mark(node: ast.Assert) -> bool:
    """Does an assertion stop a kernel at what was left in it?"""
    return mark_in(node) is not None


def mark_in(node: ast.Assert) -> re.Match[str] | None:
    """The mark that an assertion has, if it is one that stops a kernel."""
    said = node.msg.value if isinstance(node.msg, ast.Constant) else None
    never = isinstance(node.test, ast.Constant) and node.test.value is False
    return MARK.fullmatch(said) if never and isinstance(said, str) else None


def is_whole(function: ast.FunctionDef) -> bool:
    """Says a mark at the top of a function that nothing of it is rewritten?"""
    marks = (mark_in(node) for node in function.body[:2] if isinstance(node, ast.Assert))
    return any(mark is not None and mark[2].endswith(WHOLE) for mark in marks)
