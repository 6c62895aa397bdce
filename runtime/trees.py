"""Python's syntax trees: one for each text."""

from __future__ import annotations

import ast
from functools import lru_cache


def parsed(text: str) -> ast.Module:
    """The tree of a text, parsed once for all who only read it. Raises ``SyntaxError``."""
    return _parsed(text if text.endswith("\n") else text + "\n")


@lru_cache(16)
def _parsed(text: str) -> ast.Module:
    return ast.parse(text)
