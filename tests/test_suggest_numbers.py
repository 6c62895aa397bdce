"""Numbers on which a kernel decides: the cases show both sides of ``if scale != 1.0``."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from nki_migrate.judging import Limits
from nki_migrate.runtime.pool import pool
from nki_migrate.suggest import Budget, suggestions
from nki_migrate.suggest_numbers import is_number, named_numbers, other_numbers


@pytest.mark.parametrize(
    ("condition", "default", "others"),
    [
        ("n > 0", 0, [64, 2]),
        ("0 < n", 0, [64, 2]),
        ("n == 0", 5, [0]),
        ("n != 1.0", 1.0, [0.5, 2.0]),
        ("n >= 2.5", 3.0, [0.5, 2.0]),
        ("n < 100", 3, [101]),
        ("x and n <= 0 or y", 0, [64, 2]),
        ("m > 0", 0, []),
        ("n > m", 0, []),
        ("n > 'a'", 0, []),
        ("0 < n < 4", 0, []),
        ("n", 0, []),
    ],
)
def test_other_numbers_turn_a_condition(condition: str, default: float, others: list[float]) -> None:
    for source in (f"def k(n):\n if {condition}: pass\n", f"def k(n):\n return 1 if {condition} else 2\n"):
        kernel = ast.parse(source).body[0]
        assert isinstance(kernel, ast.FunctionDef)
        found = other_numbers(kernel, "n", default)
        assert found == others and [type(each) for each in found] == [type(default)] * len(others)


def test_what_is_no_number_has_no_others() -> None:
    kernel = ast.parse("def k(n):\n if n > 0: pass\n").body[0]
    assert isinstance(kernel, ast.FunctionDef)
    assert other_numbers(kernel, "n", None) == other_numbers(kernel, "n", "1") == []


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("y = x * n", True),
        ("y = nisa.tensor_scalar(x, nl.multiply, n)", True),
        ("y = nisa.activation(op=nl.exp, data=x, scale=n)", True),
        ("y = x * n.shape[0]", False),
        ("y = nl.load(n)", False),
        ("y = x * n\n z = n[0]", False),
        ("nisa.dma_copy(dst=x, src=n)", False),
        ("y = helper(n)", False),
        ("if n is None: pass", False),
    ],
)
def test_a_parameter_that_is_computed_with_is_a_number(statement: str, expected: bool) -> None:
    kernel = ast.parse(f"def k(x, n=None):\n {statement}\n").body[0]
    assert isinstance(kernel, ast.FunctionDef)
    assert is_number(kernel, "n") is expected


def test_names_stand_for_the_one_number_that_they_are_assigned() -> None:
    tree = ast.parse("A = 4\nB = 4\nB = 5\nC = D = 3\nE = 2.0\nF = True\ndef k():\n G = 7\n H = k()\n H = 8\n A = 4\n")
    assert named_numbers(tree) == {"A": 4, "G": 7}


KERNEL = """\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl

WIDE = 512


@nki.jit
def k(x, scale=1.0, window=0):
    rows, columns = x.shape
    assert columns % 128 == 0 and rows <= 128
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    step = WIDE if columns % WIDE == 0 else 128
    for i in nl.affine_range(columns // step):
        t = nl.load(x[:, i * step : (i + 1) * step])
        if scale != 1.0:
            t = nl.multiply(t, scale)
        if window > 0:
            t = nl.add(t, float(window))
        nl.store(out[:, i * step : (i + 1) * step], t)
    return out
"""


def test_the_cases_of_a_kernel_show_both_sides(tmp_path: Path) -> None:
    file = tmp_path / "k.py"
    file.write_text(KERNEL)
    with pool(1) as workers:
        (found,) = suggestions(workers, str(file), (), Budget(20.0, Limits(5.0, 4 << 30)))
    assert found.unseen == (), found
    assert any("scale" in case.args and "window" in case.args for case in found.cases)
    assert {case.args["x"].shape[1] % 512 == 0 for case in found.cases} == {True, False}
