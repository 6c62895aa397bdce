"""New statements look like the file they stand in: its width, its quotes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from .line_breaks import broken


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
    """
    width = max(width, 40)
    known = broken(text, width)
    if known:
        return f"{known}\n"
    import black.mode

    mode = black.Mode(
        target_versions={black.mode.TargetVersion.PY310},
        line_length=width,
        string_normalization=False,
        magic_trailing_comma=False,
    )
    return black.format_str(text, mode=mode)
