"""Which files are TileLang's."""

from __future__ import annotations

import re

_IMPORT = re.compile(rb"^[ \t]*(?:import|from)[ \t]+tilelang\b", re.MULTILINE)


def claims(data: bytes) -> bool:
    """Does a file import ``tilelang``? (A word in a comment or in text is no import.)"""
    return _IMPORT.search(data) is not None
