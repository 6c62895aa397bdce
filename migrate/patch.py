"""Unified diffs that ``git apply`` and ``patch -p1`` take, of bytes: a diff has no encoding of its own."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from nki_migrate.codemods.syntax.shared_lines import line_matcher

_LINES = re.compile(rb"[^\n]*\n|[^\n]+")


def unified_diff(path: str, before: bytes, after: bytes, context: int = 3, *, is_added: bool = False) -> bytes:
    """The diff that turns ``before`` into ``after``, with lines of ``context``; empty when they are equal.

    ``is_added``: there is no such file before.
    """
    old, new = _LINES.findall(before), _LINES.findall(after)
    groups = list(line_matcher(old, new).get_grouped_opcodes(context)) if old != new else []
    if not groups:
        return b""
    name = _relative(path)
    first = b"/dev/null" if is_added else _header(b"a/" + name)
    hunks = (line for group in groups for line in _hunk(old, new, group))
    return b"".join((b"--- " + first + b"\n", b"+++ " + _header(b"b/" + name) + b"\n", *hunks))


def changed_lines(before: bytes, after: bytes) -> tuple[int, int]:
    """How many lines a diff of the two adds, and how many it removes."""
    opcodes = [
        opcode
        for opcode in line_matcher(_LINES.findall(before), _LINES.findall(after)).get_opcodes()
        if opcode[0] != "equal"
    ]
    return sum(j2 - j1 for _, _, _, j1, j2 in opcodes), sum(i2 - i1 for _, i1, i2, _, _ in opcodes)


def _hunk(
    old: Sequence[bytes], new: Sequence[bytes], group: Sequence[tuple[str, int, int, int, int]]
) -> Iterator[bytes]:
    first, last = group[0], group[-1]
    yield b"@@ -%s +%s @@\n" % (_range(first[1], last[2]), _range(first[3], last[4]))
    for tag, i1, i2, j1, j2 in group:
        if tag == "equal":
            yield from _ended(b" ", old[i1:i2])
        else:
            yield from _ended(b"-", old[i1:i2])
            yield from _ended(b"+", new[j1:j2])


def _ended(sign: bytes, lines: Sequence[bytes]) -> Iterator[bytes]:
    for line in lines:
        yield sign + line if line.endswith(b"\n") else sign + line + b"\n\\ No newline at end of file\n"


def _range(start: int, stop: int) -> bytes:
    """The lines from ``start`` to ``stop`` (from 0, exclusive), as a unified diff names them."""
    count = stop - start
    if count == 1:
        return b"%d" % (start + 1)
    return b"%d,%d" % (start + 1 if count else start, count)


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
