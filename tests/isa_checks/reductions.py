"""Reductions and statistics, search and gather, registers, random numbers, the core."""

from __future__ import annotations

import numpy as np

from . import CHECKS, check, close, into, new, nisa, nl, normal, run, same

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
    x, wanted = (rng.integers(0, 4, shape).astype(np.float32) for shape in ((5, 24), (5, 8)))  # values that repeat
    found = run(into((5, 8), nl.uint32)(lambda dst, x, w: nisa.nc_find_index8(dst, x, w)), x, wanted)
    same(found, np.array([[list(row).index(w) for w in ws] for row, ws in zip(x, wanted, strict=True)], np.uint32))


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
