"""Functions of fp32 whose bits depend on the element alone: not on its place in a tile, nor on the tile's size.

NumPy has several loops for one function (vectors of the processor, what is left over behind the last whole vector,
elements that do not lie side by side), and they round differently. Two ways around that, both as fast as NumPy:

``in_vectors``
    NumPy's own fp32 loop, always on contiguous data padded to whole vectors, so that it is one loop for every element.
    ``exp log sin cos tan arctan tanh``.
``in_float64``
    What NumPy has no fp32 function for, and ``power``: evaluated in float64 on contiguous blocks that stay in the
    processor's cache, and rounded once.

``rsqrt`` is a square root and a division, which IEEE 754 rounds correctly everywhere.

``tests/test_isa_functions.py`` shows it for all slicings, offsets and strides of a tile, and measures the largest error
against float64 over all exponents: at most 1 unit in the last place of fp32 for ``in_float64`` functions, 1.5 for
``rsqrt``, 4 for ``in_vectors`` functions (NumPy's own bound). Results of one processor may differ from another's by as
much, as those of products do: verification runs both kernels on one.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache
from math import pi, sqrt
from typing import Any

import numpy as np

from ..memory import Array
from ..numerics import FLOAT32, to_float32

_SQRT_2_PI = sqrt(2.0 / pi)
VECTOR = 64
"""Elements of which data are a multiple: as many as four registers of 512 bits hold."""
BLOCK = 8192
"""Elements that are evaluated in float64 at a time: a block and its intermediate results stay in a cache."""


def in_vectors(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """``function``, a loop of NumPy's, on contiguous fp32 data in whole vectors."""

    def evaluate(x: Array) -> Array:
        x = to_float32(x)
        if x.flags.c_contiguous and x.size % VECTOR == 0:
            return function(x)
        out = np.empty(x.shape, FLOAT32)
        out.reshape(-1)[...] = function(_padded(x))[: x.size]
        return out

    return evaluate


def in_float64(function: Callable[..., Array]) -> Callable[..., Array]:
    """``function`` of one or more arrays that broadcast, in float64 and block by block; rounded to fp32 once."""

    def evaluate(*operands: Array) -> Array:
        shape = np.broadcast_shapes(*(np.shape(x) for x in operands))
        out = np.empty(shape, FLOAT32)
        given, size = out.reshape(-1), out.size
        flat = [_padded(x if np.shape(x) == shape else np.broadcast_to(x, shape)) for x in operands]
        for start in range(0, size, BLOCK):
            part = function(*(x[start : start + BLOCK].astype(np.float64) for x in flat))
            given[start : start + BLOCK] = part[: size - start]
        return out

    return evaluate


def _padded(x: Array) -> Array:
    """The elements of ``x`` side by side, followed by ones up to a whole number of vectors."""
    rest = -x.size % VECTOR
    if not rest:
        return np.ascontiguousarray(x).reshape(-1)
    padded = np.ones(x.size + rest, x.dtype)
    padded[: x.size].reshape(x.shape)[...] = x
    return padded


@cache
def _special() -> Any:
    """``scipy.special``. It is imported where a kernel needs it: it takes as long as all of the emulator."""
    return importlib.import_module("scipy.special")


def _erf(x: Array) -> Array:
    result: Array = _special().erf(x)
    return result


def _sigmoid(x: Array) -> Array:
    return 1.0 / (1.0 + np.exp(-x))


def _normal_cdf(x: Array) -> Array:
    result: Array = _special().ndtr(x)
    return result


def _normal_pdf(x: Array) -> Array:
    return np.exp(-0.5 * x * x) / sqrt(2.0 * pi)


def _gelu_tanh(x: Array) -> Array:
    """``0.5 x (1 + tanh(u))``, which is ``x / (1 + exp(-2 u))``: nothing cancels."""
    return x / (1.0 + np.exp(x * (x * x * (-2.0 * 0.044715 * _SQRT_2_PI) - 2.0 * _SQRT_2_PI)))


def _softplus(x: Array) -> Array:
    """``log(1 + exp(x))``, without an ``exp`` that overflows."""
    return np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x)))


def _silu_dx(x: Array) -> Array:
    s = _sigmoid(x)
    return s * (1.0 + x * (1.0 - s))


def _gelu_sigmoid_dx(x: Array) -> Array:
    s = _sigmoid(1.702 * x)
    return s + 1.702 * x * s * (1.0 - s)


def _rsqrt(x: Array) -> Array:
    root: Array = np.sqrt(to_float32(x))
    np.divide(FLOAT32.type(1), root, out=root)
    return root


FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "rsqrt": _rsqrt,
    "exp": in_vectors(np.exp),
    "log": in_vectors(np.log),
    "sin": in_vectors(np.sin),
    "cos": in_vectors(np.cos),
    "tan": in_vectors(np.tan),
    "arctan": in_vectors(np.arctan),
    "tanh": in_vectors(np.tanh),
    "sigmoid": in_float64(_sigmoid),
    "silu": in_float64(lambda x: x * _sigmoid(x)),
    "silu_dx": in_float64(_silu_dx),
    "gelu": in_float64(lambda x: x * _normal_cdf(x)),
    "gelu_dx": in_float64(lambda x: _normal_cdf(x) + x * _normal_pdf(x)),
    "gelu_apprx_tanh": in_float64(_gelu_tanh),
    "gelu_apprx_sigmoid": in_float64(lambda x: x * _sigmoid(1.702 * x)),
    "gelu_apprx_sigmoid_dx": in_float64(_gelu_sigmoid_dx),
    "softplus": in_float64(_softplus),
    "mish": in_float64(lambda x: x * np.tanh(_softplus(x))),
    "erf": in_float64(_erf),
    "erf_dx": in_float64(lambda x: 2.0 / sqrt(pi) * np.exp(-x * x)),
}
"""Activation functions that no single operation of IEEE 754 computes."""

power = in_float64(np.power)
