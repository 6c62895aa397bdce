"""The types of results: every pair of types of NKI, and every Python scalar, against the documents of 2.26.1."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from nki_migrate.runtime.beta1.launch import launch
from nki_migrate.runtime.beta1.modules import MODULES
from nki_migrate.runtime.errors import KernelError, NotModelled
from nki_migrate.runtime.numerics import DTYPES
from nki_migrate.runtime.spec.dtypes import ITEMSIZE, promote

nki: Any = MODULES["neuronxcc.nki"]
nl: Any = MODULES["neuronxcc.nki.language"]
nisa: Any = MODULES["neuronxcc.nki.isa"]

DOCUMENTED = {
    ("int32", "float16"): "float16",
    ("uint16", "tfloat32"): "tfloat32",
    ("float32", "tfloat32"): "float32",
    ("float32", "bfloat16"): "float32",
    ("float16", "bfloat16"): "float32",
    ("float8_e4m3", "float16"): "float16",
    ("float8_e4m3", "bfloat16"): "bfloat16",
    ("float8_e4m3", "float8_e5m2"): "bfloat16",
    ("int16", "int32"): "int32",
    ("uint8", "uint16"): "uint16",
    ("uint16", "int32"): "int32",
    ("int8", "uint8"): "int16",
    ("int8", "uint16"): "int32",
    ("int32", "uint32"): "float32",
}
"""The examples of "NKI Type Promotion"."""
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32")
FLOATS = ("float8_e4m3", "float8_e5m2", "float16", "bfloat16", "tfloat32", "float32")
PAIRS = list(itertools.product((*INTEGERS, *FLOATS, "bool_"), repeat=2))
BITWISE = ("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift")


@pytest.mark.parametrize(("pair", "wanted"), DOCUMENTED.items(), ids=str)
def test_the_examples_of_the_documents(pair: tuple[str, str], wanted: str) -> None:
    assert promote(*pair) == promote(*reversed(pair)) == wanted


def limits(name: str) -> tuple[int, int]:
    found = np.iinfo("uint8" if name == "bool_" else name)
    return int(found.min), int(found.max)


def expected(a: str, b: str) -> str:
    """The three rules of the documents, for a pair that is no example."""
    if a == b:
        return a
    a, b = ("uint8" if side == "bool_" else side for side in (a, b))
    floats = [side for side in (a, b) if side in FLOATS]
    if len(floats) == 1:
        return floats[0]
    if floats:
        return DOCUMENTED.get((a, b)) or DOCUMENTED.get((b, a)) or max(floats, key=FLOATS.index)
    low, high = (
        choose(sides) for choose, sides in zip((min, max), zip(limits(a), limits(b), strict=True), strict=True)
    )
    fitting = [t for t in INTEGERS if limits(t)[0] <= low and high <= limits(t)[1]]
    return min(fitting, key=lambda t: (ITEMSIZE[t], t not in (a, b))) if fitting else "float32"


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_every_pair_follows_the_rules_in_either_order(pair: tuple[str, str]) -> None:
    assert promote(*pair) == promote(*reversed(pair)) == expected(*pair)


def type_of(x: np.dtype[Any], operation: Any) -> Any:
    """The type of ``operation`` on a tile of type ``x``, as the kernel sees it."""
    seen: list[Any] = []

    def kernel(given: Any) -> Any:
        out = nl.ndarray(given.shape, dtype=given.dtype, buffer=nl.shared_hbm)
        tile = nl.load(given)
        seen.append(operation(tile).dtype)
        nl.store(out, tile)
        return out

    launch(nki.jit(kernel), {"given": np.ones((2, 3), x)})
    return np.dtype(seen[0])


MODELLED = tuple(name for name in (*INTEGERS, *FLOATS) if name in DTYPES)


@pytest.mark.parametrize("name", MODELLED)
@pytest.mark.parametrize(("scalar", "weak"), [(True, "uint8"), (2, "int32"), (1.5, "float32")])
def test_python_scalars_are_weak(name: str, scalar: Any, weak: str) -> None:
    """bool is uint8, int is int32, float is float32, and then the pair is promoted: a uint32 and an int are float32."""
    wanted = DTYPES[expected(name, weak)]
    assert type_of(DTYPES[name], lambda tile: tile + scalar) == wanted
    assert type_of(DTYPES[name], lambda tile: scalar * tile) == wanted
    assert type_of(DTYPES[name], lambda tile: nl.subtract(tile, scalar)) == wanted


@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("op", BITWISE)
def test_bitwise_operators_give_integers(name: str, op: str) -> None:
    """Their "input/output data types must be integer types" (nisa.tensor_tensor): a uint32 and an int are a uint32."""
    wanted = DTYPES["uint32" if name == "uint32" else "int32"]
    assert type_of(DTYPES[name], lambda tile: getattr(nl, op)(tile, 3)) == wanted
    assert type_of(DTYPES[name], lambda tile: nisa.tensor_tensor(tile, tile, getattr(nl, op))) == DTYPES[name]


def test_bits_of_immediates() -> None:
    """All ones are -1 or 2**32 - 1, whatever the sign of the type, and ``~`` works on unsigned tiles."""

    def kernel(x: Any) -> Any:
        out = nl.ndarray((4, 2, 4), dtype=nl.uint32, buffer=nl.shared_hbm)
        tile = nl.load(x)
        for at, value in enumerate((tile & -16, tile & 0xFFFFFFF0, ~tile, tile >> 28)):
            nl.store(out[at], value)
        return out

    x = np.array([[0xFFFFFFF7, 0x80000001, 5, 0]] * 2, np.uint32)
    found = launch(nki.jit(kernel), {"x": x}).outputs[0]
    for values, wanted in zip(found, (x & 0xFFFFFFF0, x & 0xFFFFFFF0, ~x, x >> 28), strict=True):
        np.testing.assert_array_equal(values, wanted)
    with pytest.raises(KernelError, match="which is no number of 8 bits"):
        type_of(np.dtype(np.uint8), lambda tile: tile & 256)


def test_bits_of_two_signs_have_no_documented_type() -> None:
    def mixed(tile: Any) -> Any:
        return nisa.tensor_tensor(tile, nl.copy(tile, dtype=nl.int32), nl.bitwise_and)

    with pytest.raises(NotModelled, match="which no document gives"):
        type_of(np.dtype(np.uint32), mixed)
    with pytest.raises(KernelError, match="works on the bits of integers"):
        type_of(np.dtype(np.float32), lambda tile: tile & 1)
