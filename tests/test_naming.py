"""Names of tiles: the variable that a creation call is assigned to, for every way to write that."""

from __future__ import annotations

import ast
import linecache
import sys
from typing import Any

import pytest
from nki_migrate.runtime.naming import Name, declared_name, kernel_boundary
from nki_migrate.runtime.positions import _Numbered

SEEN: list[Name | None] = []


def tile(*_: Any, **__: Any) -> list[Any]:
    SEEN.append(declared_name(sys._getframe(1)))
    return ["tile"]


@pytest.fixture(autouse=True)
def forget() -> None:
    SEEN.clear()


class Holder:
    buf: Any


def test_plain_assignments() -> None:
    x = tile()
    y: Any = tile(
        (1, 2),
        dtype="f",
    )
    z = w = tile(tile)
    h = Holder()
    h.buf = tile()
    assert SEEN == [("x", ()), ("y", ()), ("z", ()), ("h.buf", ())]
    assert x and y and z and w


def test_conditional_and_chained_calls() -> None:
    x = tile(1) if not SEEN else tile(2)
    y = tile(1) if not SEEN else tile(2)
    n = tile().copy()
    assert SEEN == [("x", ()), ("y", ()), ("n", ())]
    assert x and y and n


def test_tuples() -> None:
    x, y = tile(), tile()
    a, [b, c] = tile(), (tile(), tile())
    assert SEEN == [("x", ()), ("y", ()), ("a", ()), ("b", ()), ("c", ())]
    assert x and y and a and b and c


def test_appended_to_a_list() -> None:
    xs = []
    for _ in range(3):
        xs.append(tile())
    assert SEEN == [("xs", (0,)), ("xs", (1,)), ("xs", (2,))]


def test_appended_to_a_row() -> None:
    rows: list[list[Any]] = []
    for i in range(2):
        rows.append([])
        for _ in range(2):
            rows[i].append(tile())
    assert [("rows", (i, j)) for i in range(2) for j in range(2)] == SEEN


def test_row_appended_after_it_is_filled() -> None:
    rows = []
    for _ in range(2):
        row = []
        for _ in range(2):
            row.append(tile())
        rows.append(row)
    assert [("rows", (i, j)) for i in range(2) for j in range(2)] == SEEN


def test_row_appended_before_it_is_filled() -> None:
    rows = []
    for _ in range(2):
        row: list[Any] = []
        rows.append(row)
        for _ in range(2):
            row.append(tile())
    assert [("rows", (i, j)) for i in range(2) for j in range(2)] == SEEN


def test_three_levels() -> None:
    cube = []
    for _ in range(2):
        plane = []
        for _ in range(1):
            row = []
            for _ in range(2):
                row.append(tile())
            plane.append(row)
        cube.append(plane)
    assert SEEN == [("cube", (0, 0, 0)), ("cube", (0, 0, 1)), ("cube", (1, 0, 0)), ("cube", (1, 0, 1))]


def test_stored_under_an_index() -> None:
    xs: list[Any] = [None] * 4
    n = 1
    xs[n + 2] = tile()
    d: dict[Any, Any] = {}
    d[1, 2] = tile()
    d["k"] = tile()
    assert SEEN == [("xs", (3,)), ("d", (1, 2)), ("d['k']", ())]


def test_list_displays_and_comprehensions() -> None:
    xs = [tile(), tile()]
    ys = [tile() for _ in range(2)]
    zs = [[tile() for j in range(2)] for i in range(2, 4)]
    names = ["a", "b"]
    ws = [tile(n) for n in names]
    assert SEEN[:4] == [("xs", (0,)), ("xs", (1,)), ("ys", (0,)), ("ys", (1,))]
    assert SEEN[4:8] == [("zs", (i, j)) for i in range(2) for j in range(2)]
    assert SEEN[8:] == [("ws", (0,)), ("ws", (1,))]
    assert xs and ys and zs and ws


def test_returned_by_a_helper() -> None:
    def alloc(n: int) -> Any:
        return tile(n)

    def indirect() -> Any:
        return alloc(1)

    shorthand = lambda: tile()  # noqa: E731
    x = alloc(1)
    xs = [x]
    xs.append(indirect())
    y = shorthand()
    assert SEEN == [("x", ()), ("xs", (1,)), ("y", ())]
    assert y


def test_named_inside_a_helper() -> None:
    def alloc() -> Any:
        inside = tile()
        return inside

    x = alloc()
    assert SEEN == [("inside", ())]
    assert x


def test_two_calls_on_a_line() -> None:
    source = "a = tile(); b = tile(tile)"
    linecache.cache["<one line>"] = (len(source), None, [source], "<one line>")
    exec(compile(source, "<one line>", "exec"), {"tile": tile})
    assert SEEN == [("a", ()), ("b", ())]


def test_equal_comprehensions_on_one_line() -> None:
    a, b = [tile() for _ in range(1)], [tile() for _ in range(1)]
    assert SEEN == [("a", (0,)), ("b", (0,))]
    assert a and b


def test_calls_beside_others_over_several_lines() -> None:
    xs: list[Any] = [None, None]
    for i in range(2):
        xs[abs(i)], ys = tile(abs(i), k=max(1, 2)), [
            tile(
                (min(i, 2), len(xs)),
                dtype=str.lower("F"),
            ),
            tile(len(xs)), tile(*xs),
        ]  # fmt: skip
        assert ys, str(ys)
    names: list[Name | None] = [("ys", (0,)), ("ys", (1,)), ("ys", (2,))]
    assert SEEN[1:4] == SEEN[5:8] == names


def test_calls_in_blocks_that_the_compiler_copies() -> None:
    def chosen(n: int) -> Any:
        try:
            if n:
                x = tile(n) if n > 1 else tile(n, n)
                return x
        finally:
            y = tile(n)
        while True:
            z = tile(n)
            return z, y

    assert chosen(2) and chosen(1) and chosen(0)
    assert SEEN == [("x", ()), ("y", ()), ("x", ()), ("y", ()), ("y", ()), ("z", ())]


def test_nothing_binds_the_value() -> None:
    tile()
    print(tile())
    assert SEEN == [None, None]


def test_the_host_does_not_name_what_a_kernel_returns() -> None:
    def kernel() -> Any:
        return tile()

    @kernel_boundary
    def launch(function: Any) -> Any:
        return function()

    result = launch(kernel)
    assert SEEN == [None]
    assert result


def test_an_expression_that_stands_twice_in_a_tree_keeps_its_line() -> None:
    """Python 3.10 tells instructions by numbered lines, and the emulator's operators read their operands twice."""
    tree = ast.parse("x = 1\n\n\ny = x * 2\n")
    statement = tree.body[1]
    assert isinstance(statement, ast.Assign)
    product = statement.value
    statement.value = ast.copy_location(ast.BinOp(product, ast.Add(), product), product)
    assert set(_Numbered(tree).lines) == {0, 1, 4}
