"""What each operator token computes, on fp32 (or raw integers for bitwise operators)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ..memory import Array
from ..numerics import FLOAT32
from .functions import FUNCTIONS, power
from .quotients import quotient

ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "copy": lambda x: x,
    "square": np.square,
    "abs": np.abs,
    "sign": np.sign,
    "relu": lambda x: np.maximum(x, FLOAT32.type(0)),
    "reciprocal": lambda x: FLOAT32.type(1) / x,
    "sqrt": np.sqrt,
    **FUNCTIONS,
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
    "divide": quotient,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "power": power,
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
