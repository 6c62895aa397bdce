"""Constants and selections, copies, transposes and matmuls."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from . import check, close, into, new, nisa, nl, normal, run, same

BF16 = ml_dtypes.bfloat16


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
