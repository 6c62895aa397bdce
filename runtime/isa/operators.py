"""What each operator token computes, on fp32 (or raw integers for bitwise operators)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import erf, sqrt
from typing import Any

import numpy as np

from ..memory import Array
from ..numerics import FLOAT32

_ERF: Callable[[Any], Any] = np.vectorize(erf, otypes=[np.float64])


def _f32(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """Evaluate in float64 and round once: independent of the extent and of numpy's vector code paths."""

    def evaluate(x: Array) -> Array:
        result: Array = function(x.astype(np.float64)).astype(FLOAT32)
        return result

    return evaluate


def _sigmoid(x: Array) -> Array:
    return 1.0 / (1.0 + np.exp(-x))


def _normal_cdf(x: Array) -> Array:
    result: Array = 0.5 * (1.0 + _ERF(x / sqrt(2.0)))
    return result


def _normal_pdf(x: Array) -> Array:
    return np.exp(-0.5 * x * x) / sqrt(2.0 * np.pi)


def _gelu_tanh(x: Array) -> Array:
    return 0.5 * x * (1.0 + np.tanh(sqrt(2.0 / np.pi) * (x + 0.044715 * x**3)))


def _softplus(x: Array) -> Array:
    return np.logaddexp(0.0, x)


def _silu_dx(x: Array) -> Array:
    s = _sigmoid(x)
    return s * (1.0 + x * (1.0 - s))


def _gelu_sigmoid_dx(x: Array) -> Array:
    s = _sigmoid(1.702 * x)
    return s + 1.702 * x * s * (1.0 - s)


ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "copy": lambda x: x,
    "square": np.square,
    "abs": np.abs,
    "sign": np.sign,
    "relu": lambda x: np.maximum(x, FLOAT32.type(0)),
    "reciprocal": lambda x: FLOAT32.type(1) / x,
    "sqrt": np.sqrt,
    "rsqrt": _f32(lambda x: 1.0 / np.sqrt(x)),
    "exp": _f32(np.exp),
    "log": _f32(np.log),
    "sin": _f32(np.sin),
    "cos": _f32(np.cos),
    "tan": _f32(np.tan),
    "arctan": _f32(np.arctan),
    "tanh": _f32(np.tanh),
    "sigmoid": _f32(_sigmoid),
    "silu": _f32(lambda x: x * _sigmoid(x)),
    "silu_dx": _f32(_silu_dx),
    "gelu": _f32(lambda x: x * _normal_cdf(x)),
    "gelu_dx": _f32(lambda x: _normal_cdf(x) + x * _normal_pdf(x)),
    "gelu_apprx_tanh": _f32(_gelu_tanh),
    "gelu_apprx_sigmoid": _f32(lambda x: x * _sigmoid(1.702 * x)),
    "gelu_apprx_sigmoid_dx": _f32(_gelu_sigmoid_dx),
    "softplus": _f32(_softplus),
    "mish": _f32(lambda x: x * np.tanh(_softplus(x))),
    "erf": _f32(_ERF),
    "erf_dx": _f32(lambda x: 2.0 / sqrt(np.pi) * np.exp(-x * x)),
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "negative": np.negative,
    "logical_not": lambda x: (x == 0).astype(FLOAT32),
}


def _right_shift(a: Array, b: Array) -> Array:
    """A logical shift: zeros come in from the left, whatever the sign.

    Source: "Supported Math Operators for NKI ISA" (Logical Shift Right is ``nl.right_shift``, Arithmetic Shift Right is
    not supported); ``nl.right_shift`` shifts "the underlying binary representation of the integers".
    """
    if a.dtype.kind != "i":
        return np.right_shift(a, b)
    bits = np.dtype(f"u{a.dtype.itemsize}")
    shifted: Array = np.right_shift(a.view(bits), b.astype(bits)).view(a.dtype)
    return shifted


ALU: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "power": lambda a, b: np.power(a.astype(np.float64), np.float64(b)).astype(FLOAT32),
    "mod": np.mod,
    "fmod": np.fmod,
    "equal": np.equal,
    "not_equal": np.not_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "less": np.less,
    "less_equal": np.less_equal,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "left_shift": np.left_shift,
    "right_shift": _right_shift,
    "abs": lambda a, b: np.abs(a),
    "rsqrt": lambda a, b: ACTIVATIONS["rsqrt"](a),
    "invert": lambda a, b: np.invert(a),
}


_NUMBERS = frozenset(("add", "subtract", "multiply", "divide", "maximum", "minimum"))
"""Operators whose result on fp32 is fp32 as it is."""


def alu(op: str) -> Callable[[Array, Array], Array]:
    """:func:`apply_alu` of one operator on fp32, for many operands."""
    return ALU[op] if op in _NUMBERS else partial(apply_alu, op)


def apply_alu(op: str, a: Array, b: Array) -> Array:
    """``a op b`` elementwise; comparisons and logical operators give fp32 0 and 1."""
    result = ALU[op](a, b)
    return result.astype(FLOAT32) if result.dtype.kind == "b" else result
