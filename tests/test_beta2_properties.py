"""Properties: the emulator against NumPy on random shapes, slices and patterns; and against its Beta 1 front end.

One instruction has one definition, so the same instruction written for Beta 1 and for Beta 2 gives the same bits.
"""

from __future__ import annotations

from functools import partial

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from nki_migrate.runtime.beta1.launch import launch as launch1
from nki_migrate.runtime.beta1.modules import MODULES as MODULES1
from nki_migrate.runtime.beta2 import launch
from nki_migrate.runtime.beta2.modules import MODULES

execute = partial(launch.execute, version="0.2")

nl, nisa = MODULES["nki.language"], MODULES["nki.isa"]
nl1, nisa1 = MODULES1["neuronxcc.nki.language"], MODULES1["neuronxcc.nki.isa"]
TYPES = {"float32": np.float32, "bfloat16": ml_dtypes.bfloat16, "float16": np.float16}
fewer = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def loaded(array):
    tile = nl.ndarray(array.shape, array.dtype, nl.sbuf)
    nisa.dma_copy(dst=tile, src=array)
    return tile


def stored(tile):
    source = tile
    if tile.buffer is nl.psum:
        source = nl.ndarray(tile.shape, tile.dtype, nl.sbuf)
        nisa.tensor_copy(source, tile)
    out = nl.ndarray(tile.shape, tile.dtype, nl.shared_hbm)
    nisa.dma_copy(dst=out, src=source)
    return out


def arrays(shape, name, seed):
    return (np.random.default_rng(seed).standard_normal(shape) * 4).astype(TYPES[name])


sizes = st.tuples(st.integers(1, 128), st.integers(1, 40))
seeds = st.integers(0, 2**32 - 1)


# --- against NumPy ---------------------------------------------------------------------------------------------------


@fewer
@given(
    sizes,
    st.sampled_from(sorted(TYPES)),
    st.sampled_from(sorted(TYPES)),
    st.sampled_from("add subtract multiply maximum".split()),
    seeds,
)
def test_elementwise_is_fp32_and_one_rounding(shape, source, target, op, seed):
    a, b = arrays(shape, source, seed), arrays(shape, source, seed + 1)

    def kernel(a, b):
        dst = nl.ndarray(shape, getattr(nl, target), nl.sbuf)
        nisa.tensor_tensor(dst, loaded(a), loaded(b), getattr(nl, op))
        return stored(dst)

    expected = getattr(np, op)(a.astype(np.float32), b.astype(np.float32)).astype(TYPES[target])
    assert np.array_equal(execute(kernel, {"a": a, "b": b}).outputs[0], expected)


@fewer
@given(st.integers(1, 64), st.lists(st.integers(1, 7), min_size=1, max_size=3), st.data(), seeds)
def test_reductions_take_the_innermost_dimensions(partitions, free, data, seed):
    x = arrays((partitions, *free), "float32", seed)
    count = data.draw(st.integers(1, len(free)))
    axis = 1 if count == 1 and data.draw(st.booleans()) else [4, 3, 2][:count][::-1]
    negate, op = data.draw(st.booleans()), data.draw(st.sampled_from(["maximum", "minimum", "add"]))

    def kernel(x):
        dst = nl.ndarray(
            (*x.shape[: x.array.ndim - count], 1) if count == len(free) else x.shape[:-count], x.dtype, nl.sbuf
        )
        nisa.tensor_reduce(dst, getattr(nl, op), loaded(x), axis, negate=negate)
        return stored(dst)

    axes = tuple(range(x.ndim - count, x.ndim))
    ufunc = {"maximum": np.max, "minimum": np.min, "add": np.sum}[op]
    expected = ufunc(x.astype(np.float64), axis=axes) * (-1 if negate else 1)
    (found,) = execute(kernel, {"x": x}).outputs
    assert np.allclose(found.reshape(expected.shape), expected, rtol=1e-6, atol=1e-5)


@fewer
@given(st.integers(1, 128), st.integers(1, 128), st.integers(1, 512), st.sampled_from(sorted(TYPES)), st.data(), seeds)
def test_a_slice_of_a_product_is_the_product_of_slices(k, m, n, name, data, seed):
    """Bit for bit: the systolic array has one size, whatever part of it a kernel uses."""
    a, b = arrays((k, m), name, seed), arrays((k, n), name, seed + 1)
    rows, columns = data.draw(st.integers(1, m)), data.draw(st.integers(1, n))

    def kernel(a, b):
        left, right = loaded(a), loaded(b)
        results = []
        for height, width in ((m, n), (rows, columns)):
            psum = nl.ndarray((height, width), nl.float32, nl.psum)
            nisa.nc_matmul(psum, left[0:k, 0:height], right[0:k, 0:width])
            results.append(stored(psum))
        return tuple(results)

    whole, part = execute(kernel, {"a": a, "b": b}).outputs
    assert np.array_equal(whole[:rows, :columns], part)
    expected = a.astype(np.float64).T @ b.astype(np.float64)
    assert np.allclose(whole, expected, rtol=1e-4, atol=1e-3)


@st.composite
def subscripts(draw, shape):
    """A legal Beta 2 subscript of a tensor of ``shape``, and what it keeps of each dimension."""
    index = []
    for extent in shape:
        start = draw(st.integers(0, extent - 1))
        stop = draw(st.integers(start + 1, extent))
        index.append(
            draw(st.sampled_from([start, slice(start, stop), slice(start - extent, stop), slice(start, None)]))
        )
    return tuple(index[: draw(st.integers(1, len(index)))])


@fewer
@given(st.data())
def test_subscripts_show_what_numpy_shows(data):
    shape = data.draw(st.tuples(*[st.integers(1, 6)] * data.draw(st.integers(2, 4))))
    index = data.draw(subscripts(shape))
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)

    def kernel(x):
        view = loaded(x)[index]
        assert view.shape == np.zeros(shape)[index].shape
        out = nl.ndarray((view.array.size,), x.dtype, nl.shared_hbm)
        nisa.dma_copy(dst=out, src=view)
        return out

    assert np.array_equal(execute(kernel, {"x": x}).outputs[0], x[index].reshape(-1))


@fewer
@given(st.data())
def test_patterns_on_chip_are_offset_plus_steps(data):
    """``.ap`` on SBUF with static, scalar and register offsets reads the elements that the formula names."""
    partitions, row = data.draw(st.integers(1, 8)), data.draw(st.integers(4, 24))
    count, step, times = (data.draw(st.integers(1, limit)) for limit in (3, 2, 3))
    reach = (count - 1) * step + (times - 1)
    offset = data.draw(st.integers(0, max(0, row - 1 - reach)))
    if offset + reach >= row:
        return
    moved = data.draw(st.integers(0, row - 1 - reach - offset))
    x = np.arange(partitions * row, dtype=np.int32).reshape(partitions, row)
    pattern = [[row, partitions], [step, count], [1, times]]

    def kernel(x):
        tile, index = loaded(x), nl.ndarray((1, 1), nl.int32, nl.sbuf)
        nisa.memset(index, moved)
        register = nisa.register_alloc(moved)
        views = [
            tile.ap(pattern, offset=offset + moved),
            tile.ap(pattern, offset=offset, scalar_offset=index, indirect_dim=1),
            tile.ap(pattern, offset=offset, scalar_offset=register, indirect_dim=1),
        ]
        results = []
        for view in views:
            dst = nl.ndarray(view.shape, nl.int32, nl.sbuf)
            nisa.tensor_copy(dst, view)
            results.append(stored(dst))
        return tuple(results)

    p, i, j = np.meshgrid(np.arange(partitions), np.arange(count), np.arange(times), indexing="ij")
    for found in execute(kernel, {"x": x}).outputs:
        assert np.array_equal(found, p * row + offset + moved + i * step + j)


# --- against Beta 1 --------------------------------------------------------------------------------------------------


def beta1(body, **inputs):
    """The output of a Beta 1 kernel that loads its inputs, and stores the tile that ``body`` makes of them."""

    def two(x, y):
        tile = body(nl1.load(x), nl1.load(y))
        out = nl1.ndarray(tile.shape, dtype=tile.dtype, buffer=nl1.shared_hbm)
        nl1.store(out, tile)
        return out

    def one(x):
        tile = body(nl1.load(x))
        out = nl1.ndarray(tile.shape, dtype=tile.dtype, buffer=nl1.shared_hbm)
        nl1.store(out, tile)
        return out

    return np.asarray(launch1(two if len(inputs) == 2 else one, inputs).outputs[0])


def beta2(body, shape, dtype=None, buffer=None, **inputs):
    def kernel(inputs):
        dst = nl.ndarray(shape, dtype or nl.float32, buffer or nl.sbuf)
        body(dst, *[loaded(tensor) for tensor in inputs])
        return stored(dst)

    return execute(kernel, {"inputs": list(inputs.values())}).outputs[0]


SAME = {
    "activation": (
        lambda x, y: nisa1.activation(nl1.gelu, x, scale=0.7, dtype=nl1.float32),
        lambda d, x, y: nisa.activation(d, nl.gelu, x, scale=0.7),
    ),
    "tensor_tensor": (
        lambda x, y: nisa1.tensor_tensor(x, y, nl1.multiply, dtype=nl1.float32),
        lambda d, x, y: nisa.tensor_tensor(d, x, y, nl.multiply),
    ),
    "tensor_scalar": (
        lambda x, y: nisa1.tensor_scalar(x, nl1.subtract, 0.3, True, nl1.multiply, 1.7, dtype=nl1.float32),
        lambda d, x, y: nisa.tensor_scalar(d, x, nl.subtract, 0.3, True, nl.multiply, 1.7),
    ),
    "reciprocal": (
        lambda x, y: nisa1.reciprocal(x, dtype=nl1.float32),
        lambda d, x, y: nisa.reciprocal(d, x),
    ),
    "tensor_copy": (
        lambda x, y: nisa1.tensor_copy(x, dtype=nl1.float32),
        lambda d, x, y: nisa.tensor_copy(d, x),
    ),
    "scalar_tensor_tensor": (
        lambda x, y: nisa1.scalar_tensor_tensor(
            data=x, op0=nl1.add, operand0=0.1, op1=nl1.multiply, operand1=y, dtype=nl1.float32
        ),
        lambda d, x, y: nisa.scalar_tensor_tensor(d, x, nl.add, 0.1, nl.multiply, y),
    ),
    "tensor_tensor_scan": (
        lambda x, y: nisa1.tensor_tensor_scan(x, y, 0.5, nl1.multiply, nl1.add, dtype=nl1.float32),
        lambda d, x, y: nisa.tensor_tensor_scan(d, x, y, 0.5, nl.multiply, nl.add),
    ),
}


@fewer
@pytest.mark.parametrize("name", sorted(SAME))
@given(shape=sizes, kind=st.sampled_from(sorted(TYPES)), seed=seeds)
def test_both_front_ends_give_the_same_bits(name, shape, kind, seed):
    old, new = SAME[name]
    inputs = {"x": arrays(shape, kind, seed), "y": arrays(shape, kind, seed + 1)}
    before, after = beta1(old, **inputs), beta2(new, shape, **inputs)
    assert before.dtype == after.dtype
    assert before.tobytes() == after.tobytes()


@fewer
@given(st.integers(1, 128), st.integers(1, 128), st.integers(1, 512), st.sampled_from(sorted(TYPES)), seeds)
def test_both_front_ends_give_the_same_product(k, m, n, kind, seed):
    inputs = {"x": arrays((k, m), kind, seed), "y": arrays((k, n), kind, seed + 1)}
    before = beta1(lambda x, y: nl1.copy(nisa1.nc_matmul(x, y), dtype=nl1.float32), **inputs)
    after = beta2(lambda d, x, y: nisa.nc_matmul(d, x, y), (m, n), buffer=nl.psum, **inputs)
    assert before.tobytes() == after.tobytes()


@fewer
@given(sizes, st.sampled_from(sorted(TYPES)), st.sampled_from(["add", "max", "min"]), seeds)
def test_both_front_ends_give_the_same_reduction(shape, kind, op, seed):
    x = arrays(shape, kind, seed)
    token = {"add": "add", "max": "maximum", "min": "minimum"}[op]
    before = beta1(lambda x: nisa1.tensor_reduce(getattr(np, op), x, axis=1, keepdims=True, dtype=nl1.float32), x=x)
    after = beta2(lambda d, x: nisa.tensor_reduce(d, getattr(nl, token), x, 1), (shape[0], 1), x=x)
    assert before.tobytes() == after.tobytes()
