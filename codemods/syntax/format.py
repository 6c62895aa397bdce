"""New statements look like the file they stand in: its width, its quotes."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import lru_cache


def tuple_text(parts: Sequence[str]) -> str:
    """A tuple; one of a single element keeps its comma."""
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


def line_width(text: str) -> int:
    """The width of new lines: what the file itself allows, between 88 and 120 columns."""
    longest = max((len(line) for line in text.split("\n")), default=0)
    return min(max(longest, 88), 120)


@lru_cache(maxsize=4096)
def formatted(text: str, width: int) -> str:
    """``text`` (whole statements) as ``black`` writes it in ``width`` columns; strings keep their quotes.

    NKI needs Python 3.10: black is told, for one statement seldom shows it, and finding out takes a third of its time.
    A statement that is as black leaves it is not given to black, which needs ten times as long as Python to read it.
    """
    if _is_formatted(text, width):
        return f"{text}\n"
    import black.mode

    mode = black.Mode(
        target_versions={black.mode.TargetVersion.PY310},
        line_length=max(width, 40),
        string_normalization=False,
        magic_trailing_comma=False,
    )
    return black.format_str(text, mode=mode)


def _is_formatted(text: str, width: int) -> bool:
    """Is ``text`` one simple statement on a line of its own, with the blanks and brackets that black sets?

    Python writes a tree with the same blanks, but for ``**``, for parts of a slice that are expressions, for tuples of
    one, and for ``1e+30``.
    """
    if len(text) > width or any(part in text for part in _WRITTEN_OTHERWISE):
        return False
    tree = ast.parse(text)
    if len(tree.body) != 1 or not isinstance(tree.body[0], _WRITTEN_ALIKE) or _is_docstring(tree.body[0]):
        return False
    nodes = list(ast.walk(tree)) if ":" in text else []
    parts = [part for n in nodes if isinstance(n, ast.Slice) for part in (n.lower, n.upper, n.step) if part is not None]
    same = ast.unparse(tree).replace("'", '"') == text.replace("'", '"')
    return same and all(isinstance(part, ast.Name | ast.Constant) for part in parts)


_WRITTEN_OTHERWISE = ("\n", "\t", "#", "**", ",]", ", =", "e+")
_WRITTEN_ALIKE = (ast.Assign, ast.AugAssign, ast.Expr, ast.Assert, ast.Return, ast.Import, ast.ImportFrom)


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
