"""Loops over the tiles of a tensor: where the count is known to cover it, the rest of each tile is not guarded."""

from __future__ import annotations

import math
import re

import pytest
from examples import examples
from first_rung import rewrite
from hypothesis import given, settings
from hypothesis import strategies as st

HEADER = "import math\nimport neuronxcc.nki as nki\nimport neuronxcc.nki.language as nl\n\n\n"
KERNEL = """@nki.jit
def k(x, size):
    n, m = x.shape
    out = nl.ndarray((n, m), dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range({count}):
        i_p, i_f = nl.mgrid[0:{size}, 0:m]
        nl.store(out[i * {size} + i_p, i_f], nl.load(x[i * {size} + i_p, i_f]), mask=i * {size} + i_p < n)
    return out
"""
SPELLINGS = [
    "n // {t}",
    "(n + {t} - 1) // {t}",
    "({t} - 1 + n) // {t}",
    "(n + ({t} - 1)) // {t}",
    "-(-n // {t})",
    "(n - 1) // {t} + 1",
    "math.ceil(n / {t})",
    "int(math.ceil(n / {t}))",
]
"""What counts tiles, with ``n`` elements and tiles of ``t``."""


def guarded(count: str, size: str, helper: str = "") -> bool:
    """Is the copy guarded, or left as it was with a mark that stops it?"""
    text = rewrite(HEADER + helper + KERNEL.format(count=count, size=size)).source
    return "_size > 0" in text or "assert False" in text


@pytest.mark.parametrize("spelling", SPELLINGS[1:])
@pytest.mark.parametrize("size", ["128", "size"])
def test_no_tile_of_a_count_is_guarded(spelling: str, size: str) -> None:
    assert not guarded(spelling.format(t=size), size)


def test_a_number_stands_for_its_sum() -> None:
    assert not guarded("(n + 127) // 128", "128")


@pytest.mark.parametrize("spelling", SPELLINGS[1:])
def test_a_function_counts_as_its_expression_does(spelling: str) -> None:
    helper = f"def count(n, t=128):\n    '''Tiles.'''\n    return {spelling.format(t='t')}\n\n\n"
    assert not guarded("count(n)", "128", helper)
    assert not guarded("count(t=size, n=n)", "size", helper)


@pytest.mark.parametrize(
    ("count", "size"),
    [
        ("(n + size) // size", "size"),
        ("(n + 128) // 128", "128"),
        ("(n + 127) // 64", "128"),
        ("n // 128 + 1", "128"),
        ("math.floor(n / 128)", "128"),
        ("math.ceil(n / 64)", "128"),
        ("n", "128"),
    ],
)
def test_a_tile_of_another_count_is_guarded(count: str, size: str) -> None:
    assert guarded(count, size)


@pytest.mark.parametrize("spelling", SPELLINGS[1:])
def test_tiles_that_are_no_larger_than_the_tensor_are_not_guarded(spelling: str) -> None:
    kernel = KERNEL.replace("    for", "    step = {step}\n    for")

    def text(step: str) -> str:
        return rewrite(HEADER + kernel.format(count=spelling.format(t="128"), size="step", step=step)).source

    assert "_size > 0" not in text("min(n, 128)")
    assert "_size > 0" not in text("min(128, n, size)")
    assert "_size > 0" in text("max(n, 128)")
    assert "_size > 0" in text("min(n, 129)")


@pytest.mark.parametrize(
    "helper",
    [
        "def count(n, t):\n    return (n + t) // t\n\n\n",
        "def count(n, t):\n    n = n + t\n    return (n + t - 1) // t\n\n\n",
        "def count(n, t):\n    if n:\n        return (n + t - 1) // t\n    return 3\n\n\n",
        "def count(n, t):\n    return (n + t - 1) // t\n\n\ncount = max\n\n\n",
        "def count(n, t):\n    return (n + t - 1) // t\n\n\ndef count(n, t):\n    return n\n\n\n",
        "def twice(f):\n    return max\n\n\n@twice\ndef count(n, t):\n    return (n + t - 1) // t\n\n\n",
        "one = 5\n\n\ndef count(n, t):\n    return (n + t - one) // t\n\n\n",
        "class math:\n    ceil = max\n\n\ndef count(n, t):\n    return math.ceil(n / t)\n\n\n",
        "def int(n):\n    return n + 2\n\n\ndef count(n, t):\n    return int(math.ceil(n / t))\n\n\n",
    ],
)
def test_a_function_that_only_looks_like_a_count_is_guarded(helper: str) -> None:
    assert guarded("count(n, 128)", "128", helper)


@given(st.integers(-40, 40), st.integers(-9, 9).filter(bool), st.integers(-9, 9), st.sampled_from(SPELLINGS))
def test_each_tile_of_a_count_has_elements_where_one_of_both_numbers_is_positive(
    n: int, t: int, other: int, spelling: str
) -> None:
    """What the analysis takes for granted, of all small numbers; tiles may be smaller than those that are counted."""
    step = min(t, other)
    if n > 0 or step > 0:
        assert all(n - i * step > 0 for i in range(eval(spelling.format(t="t"), {"n": n, "t": t, "math": math})))


FEWER = {"n - m + 1": False, "n - 2": False, "n - m + 2": True, "n + 1": True, "2 * n": True, "m": True}
"""What is counted in tiles, and whether tiles of ``n`` need a guard then: sizes of tensors are 1 at least."""


@pytest.mark.parametrize("size", ["128", "size"])
@pytest.mark.parametrize("spelling", SPELLINGS[1:])
@pytest.mark.parametrize("counted", FEWER)
def test_tiles_of_what_is_smaller_are_not_guarded(counted: str, spelling: str, size: str) -> None:
    kernel = KERNEL.replace("    for", "    inner = {inner}\n    assert size > 0\n    for")
    count = re.sub(r"\bn\b", "inner", spelling).format(t=size)
    text = rewrite(HEADER + kernel.format(count=count, size=size, inner=counted)).source
    assert ("_size > 0" in text) == FEWER[counted]


@given(st.integers(1, 40), st.integers(0, 40), st.integers(1, 9), st.integers(-9, 9), st.sampled_from(SPELLINGS))
def test_each_tile_of_what_is_smaller_has_elements(n: int, more: int, t: int, other: int, spelling: str) -> None:
    counted = eval(spelling.format(t="t"), {"n": n - more, "t": t, "math": math})
    assert all(n - i * min(t, other) > 0 for i in range(counted))


SIZES = """{globals}

@nki.jit
def k(x):
    out = nl.ndarray((ROWS, 16), dtype=x.dtype, buffer=nl.shared_hbm)
    i_p, i_f = nl.mgrid[0:TILE, 0:16]
    for i in nl.affine_range(TILES):
        nl.store(out[i * TILE + i_p, i_f], nl.load(x[i * TILE + i_p, i_f]), mask=i * TILE + i_p < ROWS)
    return out
"""


@pytest.mark.random
@settings(max_examples=examples(25))
@given(st.integers(1, 600), st.integers(1, 128), st.integers(1, 6), st.sampled_from(["one", "each", "sum"]))
def test_tiles_that_the_sizes_of_the_module_count_are_guarded_where_one_is_empty(
    rows: int, tile: int, tiles: int, spelled: str
) -> None:
    spellings = {
        "one": f"ROWS, TILE, TILES = {rows}, {tile}, {tiles}",
        "each": f"ROWS = {rows}\nTILE = {tile}\nTILES = {tiles}",
        "sum": f"TILE = {tile}\nREST = TILE + {rows}\nROWS = REST - TILE\nTILES = {tiles} * TILE // TILE",
    }
    text = rewrite(HEADER + SIZES.format(globals=spellings[spelled])).source
    assert ("_size > 0" in text) == (rows <= (tiles - 1) * tile)


@pytest.mark.parametrize(
    "sizes",
    [
        "ROWS, TILE, TILES = 1000, 128, 8\nif ROWS:\n    TILES = 9",
        "ROWS, TILE, TILES = 1000, 128, 8\nfor TILES in range(9):\n    pass",
        "ROWS, TILE, TILES = 1000, 128, 8\n\n\ndef more():\n    global TILES\n    TILES = 9",
        "ROWS, TILE, *TILES = 1000, 128, 8",
        "ROWS, TILE = 1000, 128\nTILES = 8.0",
        "ROWS, TILE = 1000, 128\nTILES = ROWS // 0",
        "ROWS, TILE = 1000, 128\nTILES = int(8)",
    ],
)
def test_what_may_be_another_number_is_guarded(sizes: str) -> None:
    text = rewrite(HEADER + SIZES.format(globals=sizes)).source
    assert "_size > 0" in text or "mask=" in text
