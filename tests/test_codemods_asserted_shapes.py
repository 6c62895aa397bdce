"""``assert x.shape == (n, 128)`` tells the dimensions of a tensor to what follows it."""

import pytest
from first_rung import Options, rewrite

HEAD = "import neuronxcc.nki as nki\nimport neuronxcc.nki.language as nl\n\n\n"
KERNEL = HEAD + (
    "@nki.jit\ndef total(x, y, n):\n    tile, other = nl.load(x), nl.load(y)\n    ASSERTS\n"
    "    out = nl.ndarray((128, n), dtype=nl.float32, buffer=nl.shared_hbm)\n"
    "    nl.store(out, nl.add(tile, other, dtype=nl.float32))\n    return out\n"
).replace("tile, other = nl.load(x), nl.load(y)", "tile = nl.load(x)\n    other = nl.load(y)")
PLACE = "ASSERTS"


def written(asserts: str) -> str:
    return rewrite(KERNEL.replace(PLACE, asserts.replace("; ", "\n    ")), Options(unsafe=True)).source


def are_known(text: str) -> bool:
    """Is the sum a tile of the asserted dimensions, with no look at those of the operands?"""
    return "nl.ndarray((128, n), dtype=nl.float32, buffer=nl.sbuf)" in text and "combined(" not in text


@pytest.mark.parametrize(
    "asserts",
    [
        "assert tile.shape == (128, n); assert other.shape == (128, n)",
        "assert (128, n) == tile.shape, 'x'; assert other.shape == (64 + 64, n)",
        "assert tile.shape == (128, n) and other.shape == (128, n)",
    ],
)
def test_asserted_dimensions_are_known(asserts: str) -> None:
    text = written(asserts)
    assert are_known(text)
    assert rewrite(text, Options(unsafe=True)).source == text


@pytest.mark.parametrize(
    "asserts",
    [
        "pass",
        "assert tile.shape == (128, n)",
        "assert tile.shape != (128, n); assert other.shape == (128, n)",
        "assert tile.shape == (128, n) or n > 4; assert other.shape == (128, n)",
        "m = n; m = 2; assert tile.shape == (128, m); assert other.shape == (128, m)",
        "if n > 2:; \tassert tile.shape == (128, n); assert other.shape == (128, n)",
        "assert tile.shape == other; assert other.shape == (128, n)",
    ],
)
def test_what_is_not_always_so_is_not_known(asserts: str) -> None:
    assert not are_known(written(asserts.replace("\t", "    ")))
