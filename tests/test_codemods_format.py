"""New statements look as black writes them, whether black wrote them or not."""

from __future__ import annotations

import ast
from pathlib import Path

import black
import pytest
from nki_migrate.codemods.syntax.format import formatted

SOURCES = sorted(Path(__file__).parents[1].glob("runtime/**/*.py"))[::6]


def by_black(text: str, width: int) -> str:
    mode = black.Mode(
        target_versions={black.TargetVersion.PY310},
        line_length=width,
        string_normalization=False,
        magic_trailing_comma=False,
    )
    return black.format_str(text, mode=mode)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_statements_look_as_black_writes_them(path: Path) -> None:
    """Statements as Python writes their trees: most of them are what black leaves as it is."""
    simple = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.stmt) and not hasattr(n, "body")]
    for text in sorted({ast.unparse(statement) for statement in simple})[::3]:
        assert formatted(text, 100) == by_black(text, 100), text


@pytest.mark.parametrize(
    "text",
    [
        "x = -1e+30",
        "(a,) = f()",
        "a, = f()",
        "x[a,] = 1",
        "x[a:b, 0:512] = y[i * 2:i + 1]",
        "x = y ** 2 + z[1:-1]",
        "x = {'a': 'it\"s'}",
        "'text'",
        "f(a)  # why",
        "return (a, b)",
        "assert (a and b), 'why'",
        "x=1;y=2",
        "del (a, b)",
        "f(" + ", ".join(f"argument_{n}" for n in range(12)) + ")",
        "x = (a if b else c)",
        "for x in (a): pass",
    ],
)
def test_statements_that_black_writes_otherwise(text: str) -> None:
    assert formatted(text, 100) == by_black(text, 100)
