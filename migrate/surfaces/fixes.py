"""What a rewrite would change, as fixes of SARIF: replacements that whoever reads the log may apply.

Source: sections 3.55 to 3.57 of SARIF 2.1.0.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from nki_migrate.codemods.syntax.shared_lines import line_matcher

from ..errors import FileError
from ..text import decoded

NEWLINES = ("\r\n", "\n", "\r")
"""What ends a line, for Python and so for all regions of a log."""


@dataclass(frozen=True)
class Edit:
    """What one file was and becomes."""

    path: str
    before: bytes
    after: bytes


def fix(description: str, edits: Sequence[Edit], artifact: Callable[[str], dict[str, str]]) -> dict[str, Any]:
    """The fix that makes all ``edits``, of files that change together; ``artifact`` locates a file."""
    changes = [
        {"artifactLocation": artifact(edit.path), "replacements": list(_replacements(edit.before, edit.after))}
        for edit in edits
    ]
    return {"description": {"text": description}, "artifactChanges": changes}


def _replacements(before: bytes, after: bytes) -> Iterator[dict[str, Any]]:
    """Whole lines for whole lines: as text of a file in UTF-8, else as bytes, which need no name for its encoding."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    starts = [0, *accumulate(map(len, old))]
    is_text = _is_utf8(before) and _is_utf8(after)
    for tag, i1, i2, j1, j2 in line_matcher(old, new).get_opcodes():
        if tag == "equal":
            continue
        inserted = b"".join(new[j1:j2])
        if is_text:
            yield {"deletedRegion": _region(old, i1, i2), "insertedContent": {"text": inserted.decode()}}
        else:
            yield {
                "deletedRegion": {"byteOffset": starts[i1], "byteLength": starts[i2] - starts[i1]},
                "insertedContent": {"binary": base64.b64encode(inserted).decode()},
            }


def _region(lines: Sequence[bytes], first: int, end: int) -> dict[str, int]:
    """The lines from ``first`` up to ``end``, counted from 0."""
    line, column = _place(lines, first)
    end_line, end_column = _place(lines, end)
    return {"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column}


def _place(lines: Sequence[bytes], index: int) -> tuple[int, int]:
    """Where a line begins, in lines and characters counted from 1: behind the last one where that is not ended."""
    if index and not lines[index - 1].endswith((b"\n", b"\r")):
        return index, len(lines[index - 1].decode()) + 1
    return index + 1, 1


def _is_utf8(data: bytes) -> bool:
    """Is a file in UTF-8? One with a byte order mark counts as another: readers differ on whether columns count it."""
    try:
        return decoded(data).encoding == "utf-8"
    except FileError:
        return False
