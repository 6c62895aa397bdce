"""Every instruction of the table against NumPy, or its refusal: one check an instruction, and a test that none lacks.

The references are written from the 2.28 documentation, in float64 where rounding is allowed for.
"""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest
from nki_migrate.runtime.beta2.launch import launch
from nki_migrate.runtime.beta2.modules import MODULES
from nki_migrate.runtime.errors import KernelError, NotModelled
from nki_migrate.runtime.spec import beta2
from nki_migrate.runtime.spec.hardware import TARGETS

nl, nisa = MODULES["nki.language"], MODULES["nki.isa"]
BF16 = ml_dtypes.bfloat16
CHECKS = {}
ELSEWHERE = {
    "core_barrier": "test_beta2_cores",
    "lnc_barrier": "test_beta2_cores",
    "sendrecv": "test_beta2_cores",
    "nc_matmul_mx": "test_beta2_mx",
    "quantize_mx": "test_beta2_mx",
}
"""Instructions that need a launch or formats of their own, and the file that checks them."""


def check(function):
    CHECKS[function.__name__] = function
    return function


def new(shape, dtype=None, buffer=None):
    return nl.ndarray(shape, dtype or nl.float32, buffer or nl.sbuf)


def loaded(array):
    tile = nl.ndarray(array.shape, array.dtype, nl.sbuf)
    nisa.dma_copy(dst=tile, src=array)
    return tile


def stored(tile):
    source = tile
    if tile.buffer is nl.psum:
        source = new(tile.shape, tile.dtype)
        nisa.tensor_copy(source, tile)
    out = nl.ndarray(tile.shape, tile.dtype, nl.shared_hbm)
    nisa.dma_copy(dst=out, src=source)
    return out


def run(body, *arrays, target="gen3"):
    """What ``body`` returns for tiles with the values of ``arrays``: one array, or several."""

    def kernel(arrays):
        tiles = body(*[loaded(array) for array in arrays])
        return tuple(stored(tile) for tile in (tiles if isinstance(tiles, tuple) else (tiles,)))

    outputs = launch(kernel, {"arrays": list(arrays)}, target=TARGETS[target]).outputs
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


def into(shape, dtype=None, buffer=None):
    """A decorator: the body gets a new tile first, and that tile is the result."""

    def decorate(body):
        def call(*tiles):
            dst = new(shape, dtype, buffer)
            body(dst, *tiles)
            return dst

        return call

    return decorate


def normal(rng, *shape, dtype=np.float32):
    return rng.standard_normal(shape).astype(dtype)


def close(found, expected, rtol=1e-5, atol=1e-5):
    assert found.shape == expected.shape
    assert np.allclose(found.astype(np.float64), expected, rtol=rtol, atol=atol)


def same(found, expected):
    assert found.shape == expected.shape
    assert np.array_equal(found, expected)


# --- element by element ----------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("name", sorted(BITS))
def test_operators_on_bits(name):
    rng = np.random.default_rng(2)
    a = rng.integers(0, 2**31, (6, 10)).astype(np.int32)
    b = rng.integers(0, 8, (6, 10)).astype(np.int32)
    body = into(a.shape, nl.int32)(lambda d, x, y: nisa.tensor_tensor(d, x, y, getattr(nl, name)))
    same(run(body, a, b), BITS[name](a, b))


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


# --- constants and selections ----------------------------------------------------------------------------------------


@check
def memset(rng):
    same(run(into((3, 4), nl.bfloat16)(lambda dst: nisa.memset(dst, 1.3))), np.full((3, 4), 1.3, BF16))


@check
def iota(rng):
    body = into((4, 2, 3), nl.int32)(lambda dst: nisa.iota(dst, [[10, 2], [-1, 3]], 5, 100))
    p, i, j = np.meshgrid(*map(np.arange, (4, 2, 3)), indexing="ij")
    same(run(body), (5 + 100 * p + 10 * i - j).astype(np.int32))


@check
def affine_select(rng):
    x = normal(rng, 6, 8)
    body = into(x.shape)(lambda dst, x: nisa.affine_select(dst, [[-1, 8]], 1, 1, x, -9.0, cmp_op=nl.greater_equal))
    p, f = np.meshgrid(np.arange(6), np.arange(8), indexing="ij")
    same(run(body, x), np.where(1 + p - f >= 0, x, np.float32(-9)))


@check
def range_select(rng):
    x, low, high = normal(rng, 4, 8), np.array([[0], [2], [5], [9]], np.float32), np.full((4, 1), 6, np.float32)

    def body(x, low, high):
        dst, largest = new(x.shape), new((4, 1))
        nisa.range_select(dst, x, nl.greater_equal, nl.less, low, high, reduce_res=largest, range_start=1.0)
        return dst, largest

    index = 1 + np.arange(8)
    expected = np.where((index >= low) & (index < high), x, np.float32(-3.4028235e38))
    values, largest = run(body, x, low, high)
    same(values, expected)
    same(largest, expected.max(axis=1, keepdims=True))


@check
def select_reduce(rng):
    x, mask = normal(rng, 4, 8), rng.integers(0, 2, (4, 8)).astype(np.float32)

    def body(x, mask):
        dst, largest = new(x.shape), new((4, 1))
        nisa.select_reduce(dst, mask, x, -1.0, largest, nisa.reduce_cmd.reset_reduce)
        return dst, largest

    values, largest = run(body, x, mask)
    same(values, np.where(mask != 0, x, np.float32(-1)))
    same(largest, values.max(axis=1, keepdims=True))


@check
def tensor_copy_predicated(rng):
    x, y, mask = normal(rng, 4, 8), normal(rng, 4, 8), rng.integers(0, 2, (4, 8)).astype(np.uint8)

    def body(x, y, mask):
        nisa.tensor_copy_predicated(dst=y, src=x, predicate=mask, reverse_pred=True)
        return y

    same(run(body, x, y, mask), np.where(mask == 0, x, y))


# --- copies and transposes -------------------------------------------------------------------------------------------


@check
def tensor_copy(rng):
    x = rng.integers(-(2**31), 2**31, (4, 6)).astype(np.int32)
    same(run(into((4, 2, 3), nl.int32)(lambda dst, x: nisa.tensor_copy(dst, x)), x), x.reshape(4, 2, 3))
    y = normal(rng, 4, 6) * 300
    same(
        run(into(y.shape, nl.int8)(lambda dst, y: nisa.tensor_copy(dst, y)), y),
        np.clip(np.rint(y), -128, 127).astype(np.int8),
    )


@check
def tensor_copy_dynamic_src(rng):
    x = normal(rng, 4, 8)

    def body(x):
        dst, at = new((4, 2)), new((1, 1), nl.int32)
        nisa.memset(at, 3)
        nisa.tensor_copy_dynamic_src(dst, x.ap([[8, 4], [1, 2]], scalar_offset=at, indirect_dim=1))
        return dst

    same(run(body, x), x[:, 3:5])


@check
def tensor_copy_dynamic_dst(rng):
    x = normal(rng, 4, 2)

    def body(x):
        dst, at = new((4, 8)), nisa.register_alloc(5)
        nisa.memset(dst, 0.0)
        nisa.tensor_copy_dynamic_dst(dst.ap([[8, 4], [1, 2]], scalar_offset=at, indirect_dim=1), x)
        return dst

    same(run(body, x), np.pad(x, ((0, 0), (5, 1))))


@check
def dma_copy(rng):
    x = normal(rng, 4, 6)

    def body(x):
        dst = new((4, 6), nl.bfloat16)
        nisa.dma_copy(dst, x)
        total = new((4, 6))
        nisa.dma_copy(dst=total, src=x)
        nisa.dma_copy(dst=total, src=x, dst_rmw_op=nl.add)
        return dst, total

    narrow, total = run(body, x)
    same(narrow, x.astype(BF16))
    same(total, x + x)


@check
def dma_transpose(rng):
    x = normal(rng, 2, 3, 4, 5, dtype=BF16)
    same(run(into((5, 3, 4, 2), nl.bfloat16)(lambda dst, x: nisa.dma_transpose(dst, x)), x), x.transpose(3, 1, 2, 0))


@check
def dma_compute(rng):
    x, y = normal(rng, 4, 6), normal(rng, 4, 6)
    body = into(x.shape)(lambda dst, x, y: nisa.dma_compute(dst, [x, y, x], [1.0, 1.0, 1.0], nl.add))
    same(run(body, x, y), x + y + x)


@check
def nc_transpose(rng):
    x = normal(rng, 40, 2, 9, dtype=BF16)
    body = into((18, 40), nl.bfloat16, nl.psum)(lambda dst, x: nisa.nc_transpose(dst, x))
    same(run(body, x), x.reshape(40, 18).T)


@check
def nc_matmul(rng):
    a, b = normal(rng, 96, 24), normal(rng, 96, 2, 30)
    body = into((24, 60), nl.float32, nl.psum)(lambda dst, a, b: (nisa.nc_matmul(dst, a, b), nisa.nc_matmul(dst, a, b)))
    close(run(body, a, b), 2 * np.tensordot(a.astype(np.float64), b.reshape(96, 60), (0, 0)), atol=1e-4)


@check
def nc_stream_shuffle(rng):
    x, y = normal(rng, 64, 3), normal(rng, 64, 3)
    mask = [255, *rng.integers(0, 32, 31).tolist()]

    def body(x, y):
        nisa.nc_stream_shuffle(y, x, mask)
        return y

    expected = y.copy()
    for start in (0, 32):
        expected[start + 1 : start + 32] = x[start + np.array(mask[1:])]
    same(run(body, x, y), expected)


# --- reductions and statistics ---------------------------------------------------------------------------------------


@check
def tensor_reduce(rng):
    x = normal(rng, 4, 3, 5)
    close(run(into((4, 3))(lambda dst, x: nisa.tensor_reduce(dst, nl.add, x, 1)), x), x.astype(np.float64).sum(axis=2))
    found = run(into((4, 1))(lambda dst, x: nisa.tensor_reduce(dst, nl.maximum, x, [3, 4], negate=True)), x)
    same(found, -x.max(axis=(1, 2))[:, None])


@check
def tensor_partition_reduce(rng):
    x = normal(rng, 30, 5)
    body = into((1, 5))(lambda dst, x: nisa.tensor_partition_reduce(dst, nl.add, x))
    close(run(body, x), x.astype(np.float64).sum(axis=0, keepdims=True))


@check
def bn_stats(rng):
    x = normal(rng, 4, 11)
    halves = [x[:, 0::2].astype(np.float64), x[:, 1::2].astype(np.float64)]
    columns = [c for h in halves for c in (np.full(4, h.shape[1]), h.mean(axis=1), h.var(axis=1) * h.shape[1])]
    close(run(into((4, 6))(lambda dst, x: nisa.bn_stats(dst, x)), x), np.stack(columns, axis=1))


@check
def bn_aggr(rng):
    x = normal(rng, 4, 40)

    def body(x):
        stats, dst = new((4, 12)), new((4, 2))
        nisa.bn_stats(stats[0:4, 0:6], x[0:4, 0:30])
        nisa.bn_stats(stats[0:4, 6:12], x[0:4, 30:40])
        nisa.bn_aggr(dst, stats)
        return dst

    close(run(body, x), np.stack([x.mean(axis=1), x.astype(np.float64).var(axis=1)], axis=1))


# --- search and gather -----------------------------------------------------------------------------------------------


@check
def max8(rng):
    x = normal(rng, 4, 30)
    same(run(into((4, 8))(lambda dst, x: nisa.max8(dst, x)), x), -np.sort(-x, axis=1)[:, :8])


@check
def nc_find_index8(rng):
    x = rng.permuted(np.arange(120, dtype=np.float32).reshape(4, 30), axis=1)
    wanted = rng.permuted(x, axis=1)[:, :8].copy()
    wanted[0, 0] = -1
    found = run(into((4, 8), nl.uint32)(lambda dst, x, w: nisa.nc_find_index8(dst, x, w)), x, wanted)
    expected = np.array(
        [[np.flatnonzero(row == w)[0] if w >= 0 else 2**32 - 1 for w in ws] for row, ws in zip(x, wanted, strict=True)]
    )
    same(found, expected.astype(np.uint32))


@check
def nc_match_replace8(rng):
    x = rng.permuted(np.arange(120, dtype=np.float32).reshape(4, 30), axis=1)

    def body(x):
        largest, dst, index = new((4, 8)), new(x.shape), new((4, 8), nl.uint32)
        nisa.max8(largest, x)
        nisa.nc_match_replace8(dst, x, largest, -1.0, dst_idx=index)
        return dst, index

    values, index = run(body, x)
    order = np.argsort(-x, axis=1)[:, :8]
    same(index, order.astype(np.uint32))
    expected = x.copy()
    np.put_along_axis(expected, order, -1, axis=1)
    same(values, expected)


@check
def nc_n_gather(rng):
    x, index = normal(rng, 4, 3, 5), rng.integers(0, 15, (4, 6)).astype(np.uint32)
    body = into((4, 6))(lambda dst, x, index: nisa.nc_n_gather(dst, x, index))
    same(run(body, x, index), np.take_along_axis(x.reshape(4, 15), index.astype(int), axis=1))


@check
def local_gather(rng):
    x, index = normal(rng, 32, 20), rng.integers(0, 10, (32, 2)).astype(np.uint16)
    body = into((32, 30, 1))(lambda dst, x, index: nisa.local_gather(dst, x, index, 1, 30))
    expected = np.empty((32, 30, 1), np.float32)
    for core in (0, 16):
        picks = index[core : core + 16].T.reshape(-1)[:30].astype(int)
        expected[core : core + 16, :, 0] = x[core : core + 16][:, picks]
    same(run(body, x, index), expected)


@check
def nonzero_with_count(rng):
    x = rng.integers(0, 2, (32, 12)).astype(np.float32)

    def body(x):
        dst = new((32, 13), nl.int32)
        nisa.memset(dst, 7)
        nisa.nonzero_with_count(dst, x, index_offset=100, padding_val=-5)
        return dst

    expected = np.full((32, 13), 7, np.int32)
    for p in (0, 16):
        places = np.flatnonzero(x[p]) + 100
        expected[p] = [*places, *[-5] * (12 - places.size), places.size]
    same(run(body, x), expected)


@check
def sequence_bounds(rng):
    segments = np.array([[1, 1, 2, 3, 3, 3, 0, 0]], np.int32)
    body = into((1, 2, 8), nl.int32)(lambda dst, s: nisa.sequence_bounds(dst, s))
    same(run(body, segments), np.array([[[0, 0, 2, 3, 3, 3, 8, 8], [2, 2, 3, 6, 6, 6, -1, -1]]], np.int32))


# --- registers, random numbers, the core -----------------------------------------------------------------------------


def register_round_trip(rng):
    number = int(rng.integers(-(2**31), 2**31))

    def body():
        cell, register, other = new((1, 1), nl.int32), nisa.register_alloc(number), nisa.register_alloc()
        nisa.register_store(cell, register)
        nisa.register_load(other, cell)
        nisa.register_move(register, 4)
        out = new((1, 2), nl.int32)
        nisa.register_store(out[0:1, 0:1], other)
        nisa.register_store(out[0:1, 1:2], register)
        return out

    same(run(body), np.array([[number, 4]], np.int32))


CHECKS |= dict.fromkeys(("register_alloc", "register_load", "register_move", "register_store"), register_round_trip)


@check
def set_rng_seed(rng):
    def body(seed):
        tiles = [new((4, 64), nl.uint32) for _ in range(3)]
        for tile, again in zip(tiles, (True, True, False), strict=True):
            if again:
                nisa.set_rng_seed(seed)
            nisa.rng(tile)
        return tuple(tiles)

    first, second, third = run(body, np.array([[5]], np.int32))
    same(first, second)
    assert not np.array_equal(first, third)
    assert len(np.unique(first)) > 200


CHECKS["rng"] = set_rng_seed


@check
def rand2(rng):
    low = normal(rng, 4, 1)
    numbers = run(into((4, 200))(lambda dst, low: nisa.rand2(dst, low, 5.0)), low, target="gen4")
    assert (numbers >= low).all() and (numbers <= 5).all()
    close(numbers.mean(axis=1, keepdims=True), (low + 5) / 2, atol=0.5)


@check
def get_nc_version(rng):
    body = into((1, 1), nl.int32)(lambda dst: nisa.memset(dst, nisa.get_nc_version().value))
    assert [run(body, target=f"gen{n}")[0, 0] for n in (2, 3, 4)] == [2, 3, 4]


# --- all of them -----------------------------------------------------------------------------------------------------


def instructions():
    return [
        name.removeprefix("nki.isa.")
        for name, e in sorted(beta2.SYMBOLS.items())
        if e.is_callable and name.startswith("nki.isa.")
    ]


def refused():
    return [name for name in instructions() if name not in CHECKS and name not in ELSEWHERE]


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", sorted(CHECKS))
def test_instruction_against_numpy(name, seed):
    CHECKS[name](np.random.default_rng(seed))


@pytest.mark.parametrize("name", refused())
def test_what_is_not_checked_is_refused_by_name(name):
    entry = beta2.SYMBOLS[f"nki.isa.{name}"]
    with pytest.raises(NotModelled, match=rf"nki\.isa\.{name}"):
        run(into((1, 1))(lambda dst: getattr(nisa, name)(**dict.fromkeys(entry.required(), dst))))


def test_only_what_the_documentation_or_hardware_hides_is_refused():
    """Documented instructions all run, but for the state of the hardware's random number generators."""
    documented = {name for name in refused() if beta2.SYMBOLS[f"nki.isa.{name}"].documented}
    assert documented == {"rand_get_state", "rand_set_state"}


def test_what_is_checked_elsewhere_is_in_the_table():
    assert set(ELSEWHERE) | set(CHECKS) <= set(instructions())
