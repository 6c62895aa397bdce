"""Operator tokens: every spelling that Beta 1 accepts, and the one token that Beta 2 wants.

Source: ``reference/beta1.md`` section 1 (operators in the corpus), ``reference/beta2.md`` section 1.3 (tokens that the
Beta 2 front end accepts; it refuses ``divide``, ``max``, ``min``, ``logical_not`` and everything of numpy).
"""

from __future__ import annotations

ALIASES = {
    "max": "maximum",
    "amax": "maximum",
    "min": "minimum",
    "amin": "minimum",
    "sum": "add",
    "prod": "multiply",
    "true_divide": "divide",
    "negative": "negative",
    "absolute": "abs",
    "left_shift": "left_shift",
    "bitwise_not": "invert",
}
"""Names of ``nl`` and ``np`` that mean another operator when they are used as a token."""

ALU = frozenset(
    "invert bitwise_and bitwise_or bitwise_xor left_shift right_shift add subtract multiply maximum minimum equal "
    "not_equal greater greater_equal less less_equal logical_and logical_or logical_xor rsqrt abs power".split()
)
"""Tokens that Beta 2 accepts as an ALU operator."""

ALU_BETA1 = ALU | {"divide", "logical_not", "reciprocal"}

BITWISE = frozenset("invert bitwise_and bitwise_or bitwise_xor left_shift right_shift".split())
COMPARISON = frozenset("equal not_equal greater greater_equal less less_equal".split())
COMMUTATIVE = frozenset(
    "add multiply maximum minimum equal not_equal logical_and logical_or logical_xor "
    "bitwise_and bitwise_or bitwise_xor".split()
)
MIRRORED = {"greater": "less", "less": "greater", "greater_equal": "less_equal", "less_equal": "greater_equal"}
"""What a comparison is called with its two sides swapped."""

FUSED = frozenset({"add", "subtract", "multiply", "maximum", "minimum"})
"""The operators that compute the same in float32 on their own and as one of two of an instruction."""

ACTIVATION = frozenset(
    "copy square sigmoid relu gelu gelu_dx gelu_apprx_tanh gelu_apprx_sigmoid gelu_apprx_sigmoid_dx silu silu_dx tanh "
    "softplus mish erf erf_dx exp log sin arctan sqrt rsqrt reciprocal sign abs".split()
)
"""Tokens that Beta 2 accepts as an activation function."""

PYTHON = {
    "Add": "add",
    "Sub": "subtract",
    "Mult": "multiply",
    "Div": "divide",
    "Pow": "power",
    "BitAnd": "bitwise_and",
    "BitOr": "bitwise_or",
    "BitXor": "bitwise_xor",
    "LShift": "left_shift",
    "RShift": "right_shift",
}
"""Python operators on tiles, by the name of their ``ast`` class."""


def one_spelling(operator: str, reverse: bool) -> tuple[str, bool]:
    """An operator, and whether its two sides are swapped, in the one form of ``2 > x`` and ``x < 2``."""
    if not reverse or operator in COMMUTATIVE:
        return operator, False
    mirrored = MIRRORED.get(operator)
    return (mirrored, False) if mirrored is not None else (operator, True)


def canonical(name: str) -> str:
    """The token that a Beta 1 spelling stands for: ``max``, ``amax`` and ``maximum`` are ``maximum``."""
    return ALIASES.get(name, name)
