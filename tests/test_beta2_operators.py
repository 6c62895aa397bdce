"""Activation functions, operators of the ALU and operators on bits, each against NumPy's."""

from __future__ import annotations

import math

import numpy as np
import pytest
from isa_checks import close, into, nisa, nl, normal, run, same

ACTIVATIONS = {
    "copy": lambda x: x,
    "square": np.square,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "relu": lambda x: np.maximum(x, 0),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "softplus": lambda x: np.log1p(np.exp(x)),
    "gelu": lambda x: x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2))),
    "erf": np.vectorize(math.erf),
    "exp": np.exp,
    "log": lambda x: np.log(np.abs(x)),
    "sqrt": lambda x: np.sqrt(np.abs(x)),
    "rsqrt": lambda x: 1 / np.sqrt(np.abs(x)),
    "reciprocal": lambda x: 1 / x,
    "sign": np.sign,
    "abs": np.abs,
    "sin": np.sin,
    "arctan": np.arctan,
    "tanh": np.tanh,
    "mish": lambda x: x * np.tanh(np.log1p(np.exp(x))),
}


@pytest.mark.parametrize("name", sorted(ACTIVATIONS))
def test_activation_functions(name):
    x = normal(np.random.default_rng(0), 8, 64)
    x = np.abs(x) + 0.1 if name in ("log", "sqrt", "rsqrt") else np.where(np.abs(x) < 0.05, 0.1, x).astype(np.float32)
    body = into(x.shape)(lambda dst, x: nisa.activation(dst, getattr(nl, name), x))
    close(run(body, x), ACTIVATIONS[name](x.astype(np.float64)), rtol=3e-5, atol=1e-6)


ALU = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "equal": np.equal,
    "not_equal": np.not_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "less": np.less,
    "less_equal": np.less_equal,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
}
BITS = {
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "left_shift": np.left_shift,
    "right_shift": np.right_shift,
}


@pytest.mark.parametrize("name", sorted(ALU))
def test_operators_of_the_alu(name):
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-3, 4, (6, 10)).astype(np.float32) for _ in range(2))
    op, reference = getattr(nl, name), ALU[name]
    same(run(into(a.shape)(lambda d, x, y: nisa.tensor_tensor(d, x, y, op)), a, b), reference(a, b).astype(np.float32))
    found = run(into(a.shape)(lambda d, x: nisa.tensor_scalar(d, x, op, 2.0)), a)
    same(found, reference(a, np.float32(2)).astype(np.float32))
    found = run(into(a.shape)(lambda d, x: nisa.tensor_scalar(d, x, op, 2.0, reverse0=True)), a)
    same(found, reference(np.float32(2), a).astype(np.float32))


@pytest.mark.parametrize("name", ["int8", "int16", "int32", "uint8", "uint32"])
def test_right_shifts_are_logical(name):
    dtype = np.dtype(name)
    rng = np.random.default_rng(3)
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    a = rng.integers(low, high, (6, 10), dtype, endpoint=True)
    b = rng.integers(0, 8 * dtype.itemsize, (6, 10)).astype(dtype)
    wanted = np.array(
        [
            [(int(x) % (1 << 8 * dtype.itemsize)) >> int(n) for x, n in zip(p, q, strict=True)]
            for p, q in zip(a, b, strict=True)
        ]
    )
    wanted = wanted.astype(f"u{dtype.itemsize}").view(dtype)
    kind = getattr(nl, name)
    shifts = into(a.shape, kind)
    same(run(shifts(lambda d, x, y: nisa.tensor_tensor(d, x, y, nl.right_shift)), a, b), wanted)
    found = run(shifts(lambda d, x: nisa.tensor_scalar(d, x, nl.right_shift, 3)), a)
    by_three = (a.view(f"u{dtype.itemsize}") >> np.array(3, f"u{dtype.itemsize}")).view(dtype)
    same(found, by_three)


@pytest.mark.parametrize("name", sorted(BITS))
def test_operators_on_bits(name):
    rng = np.random.default_rng(2)
    a = rng.integers(0, 2**31, (6, 10)).astype(np.int32)
    b = rng.integers(0, 8, (6, 10)).astype(np.int32)
    body = into(a.shape, nl.int32)(lambda d, x, y: nisa.tensor_tensor(d, x, y, getattr(nl, name)))
    same(run(body, a, b), BITS[name](a, b))
