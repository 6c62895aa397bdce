"""Python's syntax trees: one for each text, and of files and notebooks."""

from __future__ import annotations

import ast
import importlib.machinery
import importlib.util
from functools import lru_cache

from . import cells
from .cases import CaseError


def parsed(text: str) -> ast.Module:
    """The tree of a text, parsed once for all who only read it. Raises ``SyntaxError``."""
    return _parsed(text if text.endswith("\n") else text + "\n")


@lru_cache(16)
def _parsed(text: str) -> ast.Module:
    return ast.parse(text)


def tree_of(file: str) -> ast.Module:
    """The syntax tree of a file as imports see it. Raises ``CaseError`` for what has no line of the file."""
    try:
        data = cells.source(file, importlib.machinery.SourceFileLoader("", file).get_data(file))
        try:
            return parsed(importlib.util.decode_source(data))
        except (SyntaxError, UnicodeDecodeError):
            return ast.parse(data, file)  # which says what is wrong with the file
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError) as error:
        if isinstance(error, SyntaxError) and error.lineno:
            raise
        raise CaseError(f"{file}: cannot be read as Python: {getattr(error, 'strerror', None) or error}") from error
