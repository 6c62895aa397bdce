"""Unified diffs that ``git apply`` and ``patch -p1`` take, of bytes: a diff has no encoding of its own."""

from __future__ import annotations

import difflib
import os
import re

_LINES = re.compile(rb"[^\n]*\n|[^\n]+")


def unified_diff(path: str, before: bytes, after: bytes, context: int = 3, *, is_added: bool = False) -> bytes:
    """The diff that turns ``before`` into ``after``, with lines of ``context``; empty when they are equal.

    ``is_added``: there is no such file before.
    """
    old, new = _LINES.findall(before), _LINES.findall(after)
    name = _relative(path)
    first = b"/dev/null" if is_added else _header(b"a/" + name)
    lines = difflib.diff_bytes(difflib.unified_diff, old, new, first, _header(b"b/" + name), n=context, lineterm=b"\n")
    return b"".join(line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n" for line in lines)


def changed_lines(before: bytes, after: bytes) -> tuple[int, int]:
    """How many lines a diff of the two adds, and how many it removes."""
    matcher = difflib.SequenceMatcher(None, _LINES.findall(before), _LINES.findall(after), autojunk=False)
    opcodes = [opcode for opcode in matcher.get_opcodes() if opcode[0] != "equal"]
    return sum(j2 - j1 for _, _, _, j1, j2 in opcodes), sum(i2 - i1 for _, i1, i2, _, _ in opcodes)


def _relative(path: str) -> bytes:
    """The name in the header: relative to the working directory, from the root (without ``/``) when it is elsewhere."""
    absolute = os.path.abspath(path)
    inside = os.path.relpath(absolute, os.getcwd())
    return os.fsencode(absolute.lstrip("/") if inside.startswith("..") else inside)


def _header(name: bytes) -> bytes:
    """A name as git writes it: quoted when it has control characters, ended by a tab when it has spaces."""
    if re.search(rb'[\x00-\x1f\x7f"\\]', name):
        return b'"' + re.sub(rb'[\x00-\x1f\x7f-\xff"\\]', lambda match: b"\\%03o" % match[0][0], name) + b'"'
    return name + b"\t" if b" " in name else name
