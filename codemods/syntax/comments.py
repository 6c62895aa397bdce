"""Comments and empty lines on their way to the statement that they stand above."""

from __future__ import annotations

import re
from collections.abc import Sequence

import libcst as cst

Statement = cst.SimpleStatementLine | cst.BaseCompoundStatement
Lines = list[cst.EmptyLine]
_ABOUT_INDICES = re.compile(r"\b(index|indexes|indices|arange|mgrid|allocat\w*|declar\w*)\b", re.IGNORECASE)
_DIRECTIVE = re.compile(r"#\s*(type:\s*ignore|noqa|pylint:|pyright:|fmt:|isort:)")
_NOTE = re.compile(r"\b(TODO|FIXME|XXX|HACK|NOTE|WARNING|BUG|see|https?)\b", re.IGNORECASE)


def lines_above(node: cst.CSTNode) -> Lines:
    return list(getattr(node, "leading_lines", ()))


def comment_lines(node: cst.CSTNode) -> Lines:
    return [line for line in lines_above(node) if line.comment is not None]


def without_blank_top(lines: Lines) -> Lines:
    """No empty line at the top of a block whose first statements vanished."""
    while lines and lines[0].comment is None:
        lines = lines[1:]
    return lines


def split_comments(lines: Lines) -> tuple[Lines, Lines]:
    """Empty lines at the top, and the lines from the first comment on."""
    first = next((number for number, line in enumerate(lines) if line.comment is not None), len(lines))
    return lines[:first], lines[first:]


def two_blank_lines(lines: Lines) -> Lines:
    """What stands above a definition that follows another one."""
    blank = cst.EmptyLine(indent=False)
    return [blank, blank, *without_blank_top(lines)]


def comments_of(node: Statement) -> tuple[list[cst.Comment], cst.Comment | None]:
    """Comments inside a statement, and the one at its end."""
    trailing = node.trailing_whitespace if isinstance(node, cst.SimpleStatementLine) else None
    end = trailing.comment if trailing is not None else None
    above = [line.comment for line in node.leading_lines]
    found = [c for c in _all_comments(node) if c is not end and not any(c is other for other in above)]
    return found, end


def joined_lines(above: Sequence[cst.EmptyLine], below: Sequence[cst.EmptyLine]) -> Lines:
    """Lines of a statement that vanished, then those of the next one; runs of empty lines count once."""
    if not above:
        return list(below)
    if not any(line.comment for line in (*above, *below)):
        return list(above if len(above) > len(below) else below)
    joined: Lines = []
    for line in [*above, *below]:
        if line.comment is None and joined and joined[-1].comment is None:
            continue
        joined.append(line)
    return joined


def is_directive(text: str) -> bool:
    """Is a comment for a tool that reads the statement?"""
    return bool(_DIRECTIVE.match(text))


def is_note(text: str) -> bool:
    """Is a comment more than what its statement does: a task, a warning, or a reference?"""
    return bool(_NOTE.search(text))


def without_index_comment(lines: Lines) -> tuple[Lines, Lines]:
    """The lines above index vectors that vanished without the comment on them; and that comment.

    It is the block of comment lines right above the vectors, where it speaks of indices.
    """
    start = len(lines)
    while start and lines[start - 1].comment is not None:
        start -= 1
    block = lines[start:]
    if any(line.comment is not None and _ABOUT_INDICES.search(line.comment.value) for line in block):
        return lines[:start], block
    return lines, []


def is_heading(above: Sequence[cst.EmptyLine], below: Sequence[cst.EmptyLine]) -> bool:
    """Does a comment above statements that are gone now head what comes after empty lines?"""
    return bool(above) and above[-1].comment is not None and not any(line.comment for line in below)


def without_blank_end(block: cst.BaseSuite) -> cst.BaseSuite:
    """A body without the empty lines behind its last statement."""
    if not isinstance(block, cst.IndentedBlock):
        return block
    *before, last = block.body
    inner = getattr(last, "body", None)
    if isinstance(inner, cst.BaseSuite):
        last = last.with_changes(body=without_blank_end(inner))
    footer = list(block.footer)
    while footer and footer[-1].comment is None:
        footer.pop()
    return block.with_changes(body=[*before, last], footer=footer)


def _all_comments(node: cst.CSTNode) -> list[cst.Comment]:
    if isinstance(node, cst.Comment):
        return [node]
    return [comment for child in node.children for comment in _all_comments(child)]
