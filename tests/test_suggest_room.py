"""Sizes that a kernel computes as a difference, and makes tensors of, are positive."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from nki_migrate.judging import Limits
from nki_migrate.runtime.cases import Case, TensorSpec
from nki_migrate.runtime.pool import pool
from nki_migrate.suggest import Budget, suggestions
from nki_migrate.suggest_proposals import proposed_cases
from nki_migrate.suggest_room import positive_sizes, without_room


def kernel(body: str, parameters: str = "x, w, stride=1") -> ast.FunctionDef:
    lines = "\n".join(f"    {line}" for line in body.split("\n"))
    (found,) = ast.parse(f"def k({parameters}):\n{lines}\n").body
    assert isinstance(found, ast.FunctionDef)
    return found


HEAD = "n, m = x.shape\nleft = n - w.shape[0]\n"


@pytest.mark.parametrize(
    "use",
    [
        "out = nl.ndarray((m, left), dtype=x.dtype)",
        "out = nl.zeros(shape=(nl.par_dim(left), m), dtype=x.dtype)",
        "shape = (m, 4 * left)\nout = nl.ndarray(shape, dtype=x.dtype)",
        "t = nl.load(x[0:128, 0:left])",
        "t = nl.load(x[0:128, :left])",
        "t = nl.load(x[0:128, nl.ds(m, left)])",
        "i = nl.arange(left // 2)[None, :]",
        "for i in range(m):\n    out = nl.ndarray((m, left), dtype=x.dtype)",
        "if n % m:\n    raise ValueError('n')\nout = nl.ndarray((m, left), dtype=x.dtype)",
    ],
)
def test_what_a_tensor_or_a_tile_is_made_of_is_positive(use: str) -> None:
    assert positive_sizes(kernel(HEAD + use)) == {"left": 3}


@pytest.mark.parametrize(
    "use",
    [
        "for i in range(left):\n    t = nl.load(x[i])",
        "if left:\n    out = nl.ndarray((m, left), dtype=x.dtype)",
        "for i in range(left // 4):\n    out = nl.ndarray((m, left), dtype=x.dtype)",
        "if left == 0:\n    return x\nout = nl.ndarray((m, left), dtype=x.dtype)",
        "out = nl.ndarray((m, left if left else 1), dtype=x.dtype)",
        "parts = [nl.ndarray((m, left)) for i in range(left)]",
        "out = nl.ndarray((m, left + m), dtype=x.dtype)",
        "t = nl.load(x[0:128, left:m])",
        "left = left + 1\nout = nl.ndarray((m, left), dtype=x.dtype)",
        "n += 2\nout = nl.ndarray((m, left), dtype=x.dtype)",
        "assert left % 4 == 0",
    ],
)
def test_what_may_be_nothing_need_not_be_positive(use: str) -> None:
    assert positive_sizes(kernel(HEAD + use)) == {}


@pytest.mark.parametrize(
    ("rows", "stride", "said"),
    [(3, {}, ""), (2, {}, ""), (1, {}, "left = 0"), (1, {"stride": 3}, "left = 0"), (8, {"stride": 3}, "")],
)
def test_a_case_without_room_fails_where_the_size_is_computed(rows: int, stride: dict[str, object], said: str) -> None:
    body = "n, m = x.shape\nleft, right = (n - 2) // stride + 1, m\nout = nl.ndarray((left, right), dtype=x.dtype)"
    asked = Case("k", "", "k.py", args={"x": TensorSpec((rows, 8), "float32"), "w": TensorSpec((2, 8), "float32")})
    asked = Case("k", "", "k.py", args={**asked.args, **stride})
    found = without_room(asked, kernel(body), ast.Module([], []), {"stride": 1})
    if found is None:
        assert said == ""
    else:
        assert said in found.message and (found.file, found.line) == ("k.py", 3)
        assert [(each.operator, each.left, each.before) for each in found.compared] == [("Gt", "left", 0)]


VALID = """
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def windows(x, taps):
    n, m = x.shape
    k, _ = taps.shape
    wide = m - k + 1
    assert k > 1 and n % 128 == 0
    assert wide % 64 == 0
    halves, t = 0, wide
    while t % 2 == 0:
        halves += 1
        t //= 2
    out = nl.ndarray((n, wide), dtype=x.dtype, buffer=nl.shared_hbm)
    row = nl.load(taps[0:1, 0:1])
    for i in nl.affine_range(n // 128):
        a = nl.load(x[i * 128 : (i + 1) * 128, 0:wide])
        nl.store(out[i * 128 : (i + 1) * 128, 0:wide], value=nl.multiply(a, float(halves)))
    nl.store(out[0:1, 0:1], value=row)
    return out
"""


def test_a_loop_that_halves_a_size_of_zero_is_not_run(tmp_path: Path) -> None:
    """The usual sizes that satisfy the assertions leave no column: each such run would take all of its time."""
    path = tmp_path / "k.py"
    path.write_text(VALID)
    with pool(2) as workers:
        (found,) = suggestions(workers, str(path), (), Budget(20, Limits()))
    assert found.cases, found.reason
    for case in found.cases:
        assert case.args["x"].shape[1] > case.args["taps"].shape[0] - 1


def test_a_difference_has_a_usual_size_where_its_parts_have_none() -> None:
    tree = ast.parse(VALID)
    first = next(proposed_cases(Path("k.py"), tree, next(n for n in tree.body if isinstance(n, ast.FunctionDef))))
    columns, rows = first.args["x"].shape[1], first.args["taps"].shape[0]
    assert rows > 1 and (columns - rows + 1) % 64 == 0 and columns > rows


@pytest.mark.parametrize(
    ("above", "is_left"),
    [("assert k == 4 and n > k", True), ("assert flag == 1", False), ("assert n % k == 0", False)],
)
def test_an_assertion_above_the_size_tells_first(above: str, is_left: bool) -> None:
    """``assert ks == 4`` tells the number that ``pad = ks - 1 > 0`` never did: no case of its kernel was found."""
    body = f"n, k = x.shape\n{above}\npad = k - 1\nt = nl.zeros((128, pad), dtype=x.dtype)"
    asked = Case("k", "", "k.py", args={"x": TensorSpec((128, 1), "float32")})
    assert (without_room(asked, kernel(body, "x, flag"), ast.Module([], []), {}) is None) == is_left
