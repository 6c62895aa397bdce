"""Element by element: activations, operators, scans, dropout."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from nki_migrate.runtime.errors import KernelError

from . import check, close, into, new, nisa, nl, normal, run, same

BF16 = ml_dtypes.bfloat16


@check
def activation(rng):
    x, bias, scale = normal(rng, 9, 7), normal(rng, 9, 1), normal(rng, 9, 1)
    body = into(x.shape)(lambda dst, x, b, s: nisa.activation(dst, nl.tanh, x, bias=b, scale=s))
    close(run(body, x, bias, scale), np.tanh(x.astype(np.float64) * scale + bias))

    def reduced(x):
        dst, total = new(x.shape), new((9, 1))
        nisa.activation(dst, nl.exp, x, reduce_op=nl.add, reduce_res=total, reduce_cmd=nisa.reduce_cmd.reset_reduce)
        nisa.activation(dst, nl.exp, x, reduce_op=nl.add, reduce_res=total, reduce_cmd=nisa.reduce_cmd.reduce)
        return dst, total

    values, total = run(reduced, x)
    close(values, np.exp(x.astype(np.float64)))
    close(total, 2 * np.exp(x.astype(np.float64)).sum(axis=1, keepdims=True))


@check
def activation_reduce(rng):
    x = normal(rng, 5, 12)

    def body(x):
        dst, total = new(x.shape), new((5, 1))
        nisa.activation_reduce(dst, nl.square, x, reduce_op=nl.add, reduce_res=total, scale=0.5)
        return dst, total

    values, total = run(body, x)
    close(values, np.square(x.astype(np.float64) / 2))
    close(total, np.square(x.astype(np.float64) / 2).sum(axis=1, keepdims=True))


@check
def tensor_tensor(rng):
    a, b = normal(rng, 7, 3, 5, dtype=BF16), normal(rng, 7, 15)
    body = into((7, 15), nl.bfloat16)(lambda dst, a, b: nisa.tensor_tensor(dst, a, b, nl.multiply))
    same(run(body, a, b), (a.astype(np.float32).reshape(7, 15) * b).astype(BF16))
    with pytest.raises(KernelError, match="nothing is broadcast"):
        run(into((7, 15))(lambda dst, a, b: nisa.tensor_tensor(dst, a, b, nl.add)), b, b[:, :1])


@check
def tensor_scalar(rng):
    x, column = normal(rng, 5, 6), normal(rng, 5, 1)
    body = into(x.shape)(lambda d, x, c: nisa.tensor_scalar(d, x, nl.subtract, c, True, nl.multiply, 0.5))
    same(run(body, x, column), (column - x) * np.float32(0.5))


@check
def scalar_tensor_tensor(rng):
    x, column, y = normal(rng, 5, 6), normal(rng, 5, 1), normal(rng, 5, 6)
    body = into(x.shape)(
        lambda d, x, c, y: nisa.scalar_tensor_tensor(d, x, nl.multiply, c, nl.subtract, y, reverse1=True)
    )
    same(run(body, x, column, y), y - x * column)


@check
def tensor_scalar_reduce(rng):
    x = normal(rng, 5, 6)

    def body(x):
        dst, largest = new(x.shape), new((5, 1))
        nisa.tensor_scalar_reduce(dst, x, nl.multiply, -2.0, nl.maximum, largest)
        return dst, largest

    values, largest = run(body, x)
    same(values, x * np.float32(-2))
    same(largest, (x * np.float32(-2)).max(axis=1, keepdims=True))


@check
def tensor_scalar_cumulative(rng):
    x = normal(rng, 4, 9)
    body = into(x.shape)(
        lambda dst, x: nisa.tensor_scalar_cumulative(
            dst, x, nl.multiply, nl.add, 2.0, 3.0, reduce_cmd=nisa.reduce_cmd.load_reduce
        )
    )
    close(run(body, x), 3 + np.cumsum(2 * x.astype(np.float64), axis=1))


@check
def tensor_tensor_scan(rng):
    a, b = rng.uniform(0, 1, (4, 9)).astype(np.float32), normal(rng, 4, 9)
    body = into(a.shape)(lambda dst, a, b: nisa.tensor_tensor_scan(dst, a, b, 0.5, nl.multiply, nl.add))
    expected, state = np.empty(a.shape), np.full(4, 0.5)
    for i in range(9):
        state = a[:, i].astype(np.float64) * state + b[:, i]
        expected[:, i] = state
    close(run(body, a, b), expected)


@check
def reciprocal(rng):
    x = rng.uniform(1, 2, (3, 4)).astype(np.float32)
    close(run(into(x.shape)(lambda dst, x: nisa.reciprocal(dst, x)), x), 1 / x.astype(np.float64), rtol=1e-6)


@check
def exponential(rng):
    x, shift = normal(rng, 3, 8), normal(rng, 3, 1)

    def body(x, shift):
        dst, total = new(x.shape), new((3, 1))
        nisa.exponential(dst, x, shift, total, nisa.reduce_cmd.reset_reduce)
        return dst, total

    values, total = run(body, x, shift, target="gen4")
    close(values, np.exp(x.astype(np.float64) - shift))
    close(total, np.exp(x.astype(np.float64) - shift).sum(axis=1, keepdims=True))


@check
def dropout(rng):
    x = normal(rng, 16, 64)
    dropped = run(into(x.shape)(lambda dst, x: nisa.dropout(dst, x, 0.25)), x)
    assert np.array_equal(dropped[dropped != 0], x[dropped != 0])
    assert 0.15 < (dropped == 0).mean() < 0.35
    same(run(into(x.shape)(lambda dst, x: nisa.dropout(dst, x, 1.0)), x), np.zeros_like(x))
