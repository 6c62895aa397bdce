"""Rewritten text without the marks of the findings that are left in it."""

from __future__ import annotations

from nki_migrate.codemods.syntax.mark_text import WORD


def unmarked(text: str) -> str:
    """``text`` without the lines that are marks."""
    return "\n".join(line for line in text.split("\n") if WORD not in line)
