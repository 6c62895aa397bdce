"""Shapes of tensors that are only indexed, each time by what numbers tell."""

from __future__ import annotations

import ast

import pytest
from nki_migrate.runtime.cases import Case, TensorSpec
from nki_migrate.suggest_extents import extents


def found(body: str, parameters: str = "x, y") -> dict[str, tuple[int, ...]]:
    lines = "\n".join(f"    {line}" for line in body.split("\n"))
    (kernel,) = ast.parse(f"def k({parameters}):\n{lines}\n").body
    assert isinstance(kernel, ast.FunctionDef)
    return extents(kernel)


LOOPS = "for i in nl.affine_range(4):\n  for j in range(1, 3):\n    "


@pytest.mark.parametrize(
    ("index", "shape"),
    [
        ("i, nl.arange(8)[None, :]", (4, 8)),
        ("16 * i + nl.arange(16)[:, None], nl.arange(8)[None, :] + 8 * j", (64, 24)),
        ("3 - i, j", (4, 3)),
        ("16 * i : 16 * i + 16, 0:5", (64, 5)),
        ("nl.ds(i * 16, 16), nl.ds(0, 5)", (64, 5)),
        ("nl.arange(8)[:, None] + nl.arange(8)[None, :]", (15,)),
        ("nl.arange(8)[:, None] - nl.arange(8)[None, :] + 7", (15,)),
        ("i + unknown, j", None),
        ("i, :", None),
        ("i * j", None),
        ("::2, j", None),
    ],
)
def test_loops_vectors_and_slices_tell_how_far_an_index_reaches(index: str, shape: tuple[int, ...] | None) -> None:
    assert found(f"{LOOPS}nl.load(x[{index}])") == ({} if shape is None else {"x": shape})


@pytest.mark.parametrize(
    ("mask", "rows"),
    [
        ("16 * i + nl.arange(16)[:, None] < 50", 50),
        ("16 * i + nl.arange(16)[:, None] <= 50", 51),
        ("-16 * i + -1 * nl.arange(16)[:, None] + 49 >= 0", 50),
        ("50 > 16 * i + nl.arange(16)[:, None]", 50),
        ("(j > 0) & (16 * i + nl.arange(16)[:, None] < 50)", 50),
        ("16 * j + nl.arange(16)[:, None] < 50", 64),
        ("other", 64),
    ],
)
def test_what_a_mask_excludes_is_not_reached(mask: str, rows: int) -> None:
    assert found(f"{LOOPS}nl.load(x[16 * i + nl.arange(16)[:, None], j], mask={mask})") == {"x": (rows, 3)}


def test_numbers_that_are_computed_from_numbers_are_followed() -> None:
    body = "n = 96\nwide = 8\nparts = n // wide\npairs = parts // 2\nfor i in nl.affine_range(pairs):\n"
    assert found(body + "  nl.load(x[i, 2 * wide * i + nl.arange(2 * wide)[None, :]])") == {"x": (6, 96)}


def test_names_of_numbers_and_vectors_are_followed() -> None:
    body = f"n = 16\nf = nl.arange(n)[:, None]\n{LOOPS}nl.load(x[n * i + f, j])"
    assert found(body) == {"x": (64, 3)}


@pytest.mark.parametrize("use", ["x.shape", "f(x)", "x[0:4][1]"])
def test_a_tensor_that_is_used_otherwise_tells_nothing(use: str) -> None:
    assert "x" not in found(f"{LOOPS}nl.load(x[i, j])\nprint({use})")


def test_the_farthest_of_all_uses_counts() -> None:
    assert found(f"{LOOPS}nl.store(y[i, j], x[i, 0])\nnl.load(x[0, 9])") == {"x": (4, 10), "y": (4, 3)}


COMPUTED = """
PMAX = 128

def k(x, weights, stage: int = 2):
    rows, columns = x.shape
    half = 1 << stage
    groups = rows * (columns // (2 * half))
    chunk = groups if groups <= PMAX else PMAX
    flat = x.reshape((groups, 2 * half))
    for p in nl.affine_range(groups // chunk):
        for j in nl.affine_range(half):
            nl.load(weights[p * chunk : (p + 1) * chunk, j : j + 1])
"""


def test_sizes_that_a_kernel_computes_from_other_arguments_are_known_for_a_case() -> None:
    tree = ast.parse(COMPUTED)
    kernel = next(node for node in tree.body if isinstance(node, ast.FunctionDef))
    case = Case("k", "a", "", args={"x": TensorSpec((64, 32), "float32"), "stage": 2})
    assert extents(kernel) == {}
    assert extents(kernel, case, tree) == {"weights": (256, 4)}
