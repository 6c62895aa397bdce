"""No bit of an fp32 function depends on where an element lies; and how far the functions are from float64.

``python tests/test_isa_functions.py`` prints the largest errors, and times beside NumPy's.
"""

from __future__ import annotations

import importlib
import math
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from nki_migrate.runtime.isa.functions import FUNCTIONS, power
from nki_migrate.runtime.numerics import ulp_distance

Array = np.ndarray[Any, Any]
IN_VECTORS = ("exp", "log", "sin", "cos", "tan", "arctan", "tanh")
ULPS = {**dict.fromkeys(FUNCTIONS, 1.0), **dict.fromkeys(IN_VECTORS, 4.0), "rsqrt": 1.5}
"""Units in the last place that a function may be away from float64."""
POSITIVE = ("log", "rsqrt")
TILE = (128, 512)


def every_exponent(mantissas: int = 97) -> Array:
    """Numbers of both signs with each exponent, the smallest and largest mantissa among them; infinities and NaN."""
    fractions = np.unique(np.linspace(0, (1 << 23) - 1, mantissas).astype(np.uint32))
    exponents = np.arange(256, dtype=np.uint32)[:, None] << np.uint32(23)
    positive = (exponents | fractions).reshape(-1)
    found: Array = np.concatenate((positive, positive | np.uint32(1 << 31))).view(np.float32)
    return found


def ordinary(count: int) -> Array:
    return np.random.default_rng(count).standard_normal(count).astype(np.float32) * np.float32(3)


def same_bits(found: Array, expected: Array) -> None:
    np.testing.assert_array_equal(
        np.ascontiguousarray(found).view(np.uint32), np.ascontiguousarray(expected).view(np.uint32)
    )


def slicings(x: Array) -> Iterator[tuple[Any, ...]]:
    """Slices of one dimension: lengths up to three vectors at all offsets in a vector, and strides of both signs."""
    for length in (*range(1, 40), 63, 64, 65, 127, 128, 129, 191, 192, 193):
        yield from ((slice(offset, offset + length),) for offset in range(0, 67, 1 if length < 20 else 3))
    for step in (2, 3, 5, 64, -1, -2, -7):
        yield from ((slice(offset, None, step),) for offset in range(0 if step > 0 else 500, 505, 17))


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_no_bit_depends_on_the_slice(name: str) -> None:
    x = ordinary(700)
    with np.errstate(all="ignore"):
        whole = FUNCTIONS[name](x)
        for index in slicings(x):
            same_bits(FUNCTIONS[name](x[index]), whole[index])


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_no_bit_depends_on_the_shape_of_a_tile_or_on_where_it_begins(name: str) -> None:
    x = ordinary(40 * 90).reshape(40, 90)
    memory = np.empty(x.nbytes + 64, np.uint8)
    with np.errstate(all="ignore"):
        whole = FUNCTIONS[name](x)
        for rows, columns in ((1, 90), (40, 1), (7, 64), (40, 33), (3, 5), (32, 64)):
            for row, column in ((0, 0), (0, 17), (5, 1), (8, 26)):
                part = np.s_[row : row + rows, column : column + columns]
                same_bits(FUNCTIONS[name](x[part]), whole[part])
        same_bits(FUNCTIONS[name](x.T), whole.T)
        same_bits(FUNCTIONS[name](x.reshape(4, 10, 90)[:, ::2]), whole.reshape(4, 10, 90)[:, ::2])
        for offset in range(1, 64, 3):
            moved = memory[offset : offset + x.nbytes].view(np.float32).reshape(x.shape)
            moved[...] = x
            same_bits(FUNCTIONS[name](moved), whole)


@pytest.mark.parametrize("name", ["exp", "tanh", "sigmoid", "rsqrt", "log", "erf"])
def test_no_bit_of_any_exponent_depends_on_the_neighbours(name: str) -> None:
    x = every_exponent()
    order = np.random.default_rng(0).permutation(x.size)
    with np.errstate(all="ignore"):
        whole = FUNCTIONS[name](x)
        same_bits(FUNCTIONS[name](x[order]), whole[order])
        for size in (61, 64, 1000):
            for offset in range(3):
                starts = range(offset, x.size, size)
                found = np.concatenate([FUNCTIONS[name](x[start : start + size]) for start in starts])
                same_bits(found, whole[offset:])
        alone = order[:2000]
        same_bits(np.concatenate([FUNCTIONS[name](x[i : i + 1]) for i in alone]), whole[alone])


def test_no_bit_of_a_power_depends_on_the_slice_or_on_how_the_exponent_is_given() -> None:
    x, y = np.abs(ordinary(40 * 90)).reshape(40, 90), ordinary(90 * 40)[:40, None]
    for exponent in (np.float32(2), np.float32(-0.5), np.float32(1.7), y):
        whole = power(x, exponent)
        assert whole.dtype == np.float32
        same_bits(power(x, np.broadcast_to(exponent, x.shape).copy()), whole)
        same_bits(power(x[:, 5:38], exponent), whole[:, 5:38])
        same_bits(np.concatenate([power(x[:, i : i + 7], exponent) for i in range(0, 90, 7)], axis=1), whole)
    same_bits(power(x, np.float32(2)), np.square(x))


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_errors_are_as_small_as_the_module_says(name: str) -> None:
    assert error(name) <= ULPS[name]


def test_a_tile_without_elements_has_a_result() -> None:
    for function in FUNCTIONS.values():
        assert function(np.empty((4, 0), np.float32)).shape == (4, 0)


# --- errors and times ------------------------------------------------------------------------------------------------


def special() -> Any:
    return importlib.import_module("scipy.special")


def sigmoid(x: Array) -> Array:
    result: Array = special().expit(x)
    return result


def cdf(x: Array) -> Array:
    result: Array = special().ndtr(x)
    return result


def softplus(x: Array) -> Array:
    result: Array = np.logaddexp(x.dtype.type(0), x)
    return result


def gelu_tanh(x: Array) -> Array:
    """In fp32 as people write it; in float64 without the difference that cancels large negative ones."""
    of = x.dtype.type
    inner = of(math.sqrt(2 / math.pi)) * (x + of(0.044715) * x * x * x)
    return x * sigmoid(2 * inner) if of is np.float64 else of(0.5) * x * (of(1) + np.tanh(inner))


def plain(x: Array) -> dict[str, Callable[[Array], Array]]:
    """What a NumPy programmer writes for each function, in the type of ``x``; scipy's where NumPy has none."""
    of = x.dtype.type
    pdf = lambda x: np.exp(of(-0.5) * x * x) * of(1 / math.sqrt(2 * math.pi))  # noqa: E731
    return {
        **{name: getattr(np, name) for name in IN_VECTORS},
        "rsqrt": lambda x: of(1) / np.sqrt(x),
        "sigmoid": sigmoid,
        "silu": lambda x: x * sigmoid(x),
        "silu_dx": lambda x: sigmoid(x) * (of(1) + x * (of(1) - sigmoid(x))),
        "gelu": lambda x: x * cdf(x),
        "gelu_dx": lambda x: cdf(x) + x * pdf(x),
        "gelu_apprx_tanh": gelu_tanh,
        "gelu_apprx_sigmoid": lambda x: x * sigmoid(of(1.702) * x),
        "gelu_apprx_sigmoid_dx": lambda x: sigmoid(of(1.702) * x)
        + of(1.702) * x * sigmoid(of(1.702) * x) * (of(1) - sigmoid(of(1.702) * x)),
        "softplus": softplus,
        "mish": lambda x: x * np.tanh(softplus(x)),
        "erf": special().erf,
        "erf_dx": lambda x: of(2 / math.sqrt(math.pi)) * np.exp(-x * x),
    }


def error(name: str) -> float:
    """The largest distance from float64 in units in the last place of fp32, where that is a normal number."""
    x = np.concatenate((every_exponent(), ordinary(100_000)))
    x = np.abs(x) if name in POSITIVE else x
    with np.errstate(all="ignore"):
        found, exact = FUNCTIONS[name](x), plain(x.astype(np.float64))[name](x.astype(np.float64))
        rounded = exact.astype(np.float32)
        normal = np.isfinite(rounded) & (np.abs(rounded) >= np.finfo(np.float32).tiny)
        same = ulp_distance(found[~normal], rounded[~normal]) <= (1 << 23)
        assert np.all(same | ~np.isfinite(x[~normal])), f"{name}: subnormal, infinite or no number"
        unit = np.spacing(np.abs(rounded[normal]))
        return float(np.max(np.abs(found[normal].astype(np.float64) - exact[normal]) / unit))


def shortest(actions: list[Callable[[], object]], turns: int = 25) -> list[float]:
    """Processor seconds of each action: the shortest of some turns."""
    found = [math.inf] * len(actions)
    for _ in range(turns):
        for position, action in enumerate(actions):
            started = time.process_time()
            for _ in range(4):
                action()
            found[position] = min(found[position], (time.process_time() - started) / 4)
    return found


def main() -> int:
    x = ordinary(math.prod(TILE)).reshape(TILE)
    print(f"{'function':22} {'error (ulp)':>11} {'NumPy us':>9} {'ours us':>8} ratio   on {TILE}")
    with np.errstate(all="ignore"):
        for name, function in FUNCTIONS.items():
            given = np.abs(x) + np.float32(0.1) if name in POSITIVE else x
            theirs, ours = shortest([partial(plain(given)[name], given), partial(function, given)])
            print(f"{name:22} {error(name):11.2f} {theirs * 1e6:9.1f} {ours * 1e6:8.1f} {ours / theirs:5.2f}")
        y = np.abs(x)
        theirs, ours = shortest([lambda: np.power(y, np.float32(1.7)), lambda: power(y, np.float32(1.7))])
        print(f"{'power':22} {'':11} {theirs * 1e6:9.1f} {ours * 1e6:8.1f} {ours / theirs:5.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
