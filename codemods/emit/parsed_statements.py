"""The LibCST statements of new text."""

from __future__ import annotations

from functools import lru_cache

import libcst as cst

from ..syntax.comments import Statement


def statements_of(text: str, config: cst.PartialParserConfig) -> list[Statement]:
    """The statements of a text. Simple ones without comments are parsed once for all places that get them."""
    lines = _simple_lines(text, config) if "#" not in text else []
    if not lines:
        return list(cst.parse_module(text, config).body)
    return [line.with_changes(body=[part.with_changes() for part in line.body]) for line in lines]


@lru_cache(maxsize=512)
def _simple_lines(text: str, config: cst.PartialParserConfig) -> list[cst.SimpleStatementLine]:
    """The statements of a text, if all are simple; else none."""
    body = cst.parse_module(text, config).body
    lines = [line for line in body if isinstance(line, cst.SimpleStatementLine)]
    return lines if len(lines) == len(body) else []
