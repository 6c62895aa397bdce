"""New statements look as black writes them, whether black wrote them or not."""

from __future__ import annotations

import ast
from pathlib import Path

import black
import pytest
from examples import sampled
from hypothesis import given, settings
from hypothesis import strategies as st
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


@pytest.mark.parametrize("path", sampled("format", SOURCES), ids=lambda path: path.stem)
def test_statements_look_as_black_writes_them(path: Path) -> None:
    """Statements as Python writes their trees: most of them are what black leaves as it is."""
    simple = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.stmt) and not hasattr(n, "body")]
    for text in sorted({ast.unparse(statement) for statement in simple})[::3]:
        for width in (100, 50):
            assert formatted(text, width) == by_black(text, width), text


BOUNDS = st.sampled_from(("", "0", "n", "i*128", "(i + 1) * 128", "-1", "x.shape[0]", "size(x)"))
INDICES = st.one_of(
    st.sampled_from(("i", "n-1", "...", "nl.ds(block * 128, 128)", "t[0]", "'a'", "not c", "a if c else b")),
    st.builds("{}:{}".format, BOUNDS, BOUNDS),
)
FUNCTIONS = st.sampled_from(("nisa.tensor_tensor", "broadcast", "x.ap", "x[0].ap", "nl.tile_size.pmax.of", "f()"))
VALUES = st.recursive(
    st.sampled_from(("x", "accumulated_tile", "2.0", "-n", "a*b", "(a+b)*c", "x.shape[1]", "a and b", "f()", "-3e+30")),
    lambda inner: st.one_of(
        st.builds(lambda name, args: f"{name}({', '.join(args)})", FUNCTIONS, st.lists(inner, max_size=4)),
        st.builds(lambda args: f"f({', '.join(f'name_{n}={a}' for n, a in enumerate(args))})", st.lists(inner)),
        st.builds(lambda items: f"[{', '.join(items)}]", st.lists(inner, max_size=5)),
        st.builds(lambda items: f"({', '.join(items)},)", st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda items: f"tile[{', '.join(items)}]", st.lists(INDICES, min_size=1, max_size=4)),
        st.builds("{} + {}".format, inner, inner),
    ),
    max_leaves=12,
)
STATEMENTS = st.one_of(
    st.builds("{}({})".format, FUNCTIONS, VALUES),
    st.builds("{} = {}".format, st.sampled_from(("x", "x.y", "x[0]", "a, b", "x = y", "x: int")), VALUES),
    st.builds("{} {}".format, st.sampled_from(("return", "assert", "x +=")), VALUES),
)


@settings(max_examples=400)
@given(STATEMENTS, st.sampled_from((40, 60, 88)))
def test_random_statements_look_as_black_writes_them(text: str, width: int) -> None:
    assert formatted(text, width) == by_black(text, width)


def test_calls_that_are_too_long_are_not_given_to_black(monkeypatch: pytest.MonkeyPatch) -> None:
    """What rules write most is what black need not be asked."""
    monkeypatch.setattr(black, "format_str", None)
    text = "nisa.dma_copy(dst=tile[:, i * n:(i + 1) * n], src=x.ap(pattern=[[n, 128], [1, n * 4]], offset=i * n * 128))"
    assert formatted(text, 60).count("\n") == 6


@pytest.mark.parametrize(
    "text",
    [
        "x = -1e+30",
        "x = '1e+30'",
        "x = 1E+30 * 2e-3",
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
        "x = f'{a[i * 2:]}'",
        "for x in (a): pass",
    ],
)
def test_statements_that_black_writes_otherwise(text: str) -> None:
    assert formatted(text, 100) == by_black(text, 100)
