"""Lines that a rule on text has made too long are set as black sets them; all others stay as they are."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nki_migrate.codemods.plan.line_origins import Line
from nki_migrate.codemods.plan.long_lines import fitted

NAMES = st.lists(st.sampled_from(["rows", "columns", "a_rather_long_name", "x"]), min_size=1, max_size=24)
WIDTH = 88


def texts(line: str, module: str = "x = 1\n") -> list[str]:
    return [new.text for new in fitted([Line(line, 7, 3)], module)]


@given(NAMES, st.integers(0, 4), st.sampled_from(["f({})", "y = f({})", "return f({})", "return (f({}), 1)"]))
def test_a_long_statement_says_the_same_on_more_lines(names: list[str], depth: int, form: str) -> None:
    line = "    " * depth + form.format(", ".join(f"{name}={name}" for name in dict.fromkeys(names)))
    opening = [Line("    " * each + "if x:", 1) for each in range(depth)]
    new = fitted([*opening, Line(line, 7, 3)], "x = 1\n")[depth:]
    assert ast.dump(ast.parse("\n".join(each.text.removeprefix("    " * depth) for each in new))) == ast.dump(
        ast.parse(line.strip())
    )
    assert {(each.origin, each.shift) for each in new} == {(7, 3)}
    assert all(each.text.startswith("    " * depth) and len(each.text) <= WIDTH for each in new)


def test_a_long_header_keeps_its_body_elsewhere() -> None:
    header = f"    def kernel({', '.join(f'parameter_{n}' for n in range(12))}):"
    new = [line.text for line in fitted([Line(t, 1) for t in ("if x:", header, "        pass")], "x = 1\n")][1:-1]
    assert new[0] == "    def kernel(" and new[-1] == "    ):" and len(new) > 2


LONG = ", ".join(f"argument_{n}" for n in range(12))


@pytest.mark.parametrize(
    ("before", "line", "behind"),
    [
        ([], f"f({LONG})  # a comment", []),
        ([], f"if f({LONG}):", ["    pass"]),
        ([], f"f({LONG},", [")"]),
        ([], f"for i in f({LONG}): pass", []),
        ([], f"f({LONG}); g()", []),
        (["f("], "    " + ", ".join(f"name_{n}=name_{n}" for n in range(12)), [")"]),
        (["x = f("], f"    g({LONG})", [")"]),
        (['"""'], f"f({LONG})", ['"""']),
        (["x = \\"], f"f({LONG})", []),
    ],
)
def test_a_line_that_is_no_whole_statement_stays(before: list[str], line: str, behind: list[str]) -> None:
    lines = [*before, line, *behind]
    ast.parse("\n".join(lines))
    assert [new.text for new in fitted([Line(text, 7) for text in lines], "x = 1\n")] == lines


def test_a_line_that_the_module_has_at_another_margin_stays() -> None:
    assert texts(f"f({LONG})", f"if x:\n        f({LONG})\n") == [f"f({LONG})"]


def test_the_width_is_that_of_the_file() -> None:
    line = f"f({LONG})"
    assert 88 < len(line) > 120 and len(texts(line, "# " + "=" * 130 + "\n")) > 1
    short = line[:110].rpartition(",")[0] + ")"
    assert 88 < len(short) <= 120 and texts(short, "# " + "=" * 130 + "\n") == [short] != texts(short)
