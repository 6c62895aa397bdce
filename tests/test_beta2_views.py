"""Views of tensors from NKI 0.5 on, against numpy; loops on chip as functions, from 0.6 on."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nki_migrate.runtime.beta2.launch import execute
from nki_migrate.runtime.beta2.modules import MODULES
from nki_migrate.runtime.beta2.tensor import _subscript
from nki_migrate.runtime.errors import KernelError, NotModelled

nl, nisa = MODULES["nki.language"], MODULES["nki.isa"]
X = np.arange(2 * 4 * 6, dtype=np.float32).reshape(2, 4, 6)


def slices(extent):
    """A slice inside of a dimension of ``extent``, open or not."""
    start, stop = st.integers(0, extent - 1), st.integers(0, extent)
    return st.builds(slice, st.one_of(st.none(), start), st.one_of(st.none(), stop))


def tile_of(x):
    tile = nl.ndarray(x.shape, x.dtype, nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    return tile


def stored(tile):
    out = nl.ndarray(tile.shape, tile.dtype, nl.shared_hbm)
    nisa.dma_copy(dst=out, src=tile)
    return out


VIEWS = {
    "permute": (lambda t: t.permute((0, 2, 1)), X.transpose(0, 2, 1)),
    "broadcast": (lambda t: t[:, 1:2].broadcast(1, 3), np.broadcast_to(X[:, 1:2], (2, 3, 6))),
    "expand_dim": (lambda t: t.expand_dim(3), X[..., None]),
    "squeeze_dim": (lambda t: t[:, 2:3].squeeze_dim(1), X[:, 2]),
    "reshape_dim": (lambda t: t.reshape_dim(2, (3, -1)), X.reshape(2, 4, 3, 2)),
    "flatten_dims": (lambda t: t.flatten_dims(1, 2), X.reshape(2, 24)),
    "rearrange": (
        lambda t: t.rearrange(("p", "h", ("w", "c")), ("p", ("h", "w"), "c"), {"c": 2}),
        X.reshape(2, 12, 2),
    ),
    "slice": (lambda t: t.slice(2, 1, 6, 2), X[:, :, 1:6:2]),
    "select": (lambda t: t.select(1, 3), X[:, 3]),
    "reshape": (lambda t: t[:, 1:3].reshape((2, 2, 2, 3)), X[:, 1:3].reshape(2, 2, 2, 3)),
    "a subscript of a permutation": (lambda t: t.permute((0, 2, 1))[:, 1:3, 0], X.transpose(0, 2, 1)[:, 1:3, 0]),
    "reinterpret_cast": (lambda t: t.reinterpret_cast(nl.int32), X.view(np.int32)),
}


@pytest.mark.parametrize("name", sorted(VIEWS))
def test_a_view_has_the_elements_that_numpy_has(name):
    view, wanted = VIEWS[name]
    (found,) = execute(lambda x: stored(view(tile_of(x))), {"x": X}, version="0.5").outputs
    assert found.shape == wanted.shape and np.array_equal(found, wanted)


def test_a_view_is_of_the_same_memory():
    def kernel(x):
        tile = tile_of(x)
        nisa.memset(tile.permute((0, 2, 1))[:, 2], 0.0)
        return stored(tile)

    wanted = X.copy()
    wanted[:, :, 2] = 0
    assert np.array_equal(execute(kernel, {"x": X}, version="0.6").outputs[0], wanted)


def test_what_views_say_of_themselves():
    def kernel(x):
        tile = tile_of(x)
        turned = tile.permute((0, 2, 1))
        assert tile.is_contiguous() and not turned.is_contiguous() and tile[:, 0:1].is_contiguous()
        assert turned.get_pattern() == [[24, 2], [1, 6], [6, 4]] and turned.strides == (24, 1, 6)
        assert tile.size == 48 and not tile.is_indirect()
        return stored(tile)

    execute(kernel, {"x": X}, version="0.5")


def test_a_tensor_chooses_an_element_or_rows():
    def kernel(x):
        row, rows = nl.ndarray((1, 1), nl.int32, nl.sbuf), nl.ndarray((3, 1), nl.int32, nl.sbuf)
        nisa.memset(row, 1)
        nisa.iota(rows, [[1, 1]], offset=3, channel_multiplier=-1)
        tile, many = nl.ndarray((2, 6), x.dtype, nl.sbuf), nl.ndarray((3, 6), x.dtype, nl.sbuf)
        nisa.dma_copy(dst=tile, src=x.select(1, row))
        assert x.select(1, row).is_indirect()
        nisa.dma_copy(dst=many, src=x.reshape((8, 6)).vector_select(0, rows))
        return stored(tile), stored(many)

    one, many = execute(kernel, {"x": X}, version="0.5").outputs
    assert np.array_equal(one, X[:, 1]) and np.array_equal(many, X.reshape(8, 6)[[3, 2, 1]])


@pytest.mark.parametrize(
    ("view", "message"),
    [
        (lambda t: t.permute((1, 0, 2)), "partition dimension of a tensor on chip stays the first"),
        (lambda t: t.permute((0, 1)), "no order of 3 dimensions"),
        (lambda t: t.broadcast(1, 8), "extent 4, not 1"),
        (lambda t: t.squeeze_dim(0), "is the partition dimension"),
        (lambda t: t.reshape_dim(1, (3, 2)), "does not have the 4 elements"),
        (lambda t: t.permute((0, 2, 1)).flatten_dims(1, 2), "do not lie so"),
        (lambda t: t.slice(1, 2, 9), "slice:"),
        (lambda t: t.reshape((4, 12)), "partition dimension"),
        (lambda t: t.indirect(t), "tensor indirection"),
        (lambda t: t.address, r"no \.address in NKI 0\.5"),
        (lambda t: t[:, 1:3].ap([[24, 2], [1, 6]], offset=6), "do not agree"),
    ],
)
def test_a_view_that_is_none(view, message):
    with pytest.raises((KernelError, NotModelled), match=message):
        execute(lambda x: stored(view(tile_of(x))), {"x": X}, version="0.5")


def test_versions_before_have_no_views():
    with pytest.raises(KernelError, match=r"tensors have no \.permute in NKI 0\.4"):
        execute(lambda x: stored(tile_of(x).permute((0, 2, 1))), {"x": X}, version="0.4")


@pytest.mark.parametrize(("index", "on_chip", "in_hbm"), [(1, (1, 4, 6), (4, 6)), ((1, 2), (1, 6), (6,))])
def test_an_integer_drops_a_dimension_but_for_the_partitions(index, on_chip, in_hbm):
    def kernel(x):
        assert tile_of(x)[index].shape == on_chip
        assert x[index].shape == in_hbm
        return stored(tile_of(x))

    for version in ("0.3", "0.6"):
        execute(kernel, {"x": X}, version=version)


# --- loops -----------------------------------------------------------------------------------------------------------


def summed(x):
    """The sum of the first columns of a row, as many as a register says, by both loops."""
    count, one = nl.ndarray((1, 1), nl.int32, nl.sbuf), nl.ndarray((1, 1), nl.int32, nl.sbuf)
    total, part = nl.zeros((1, 1), nl.float32), nl.ndarray((1, 1), nl.float32, nl.sbuf)
    nisa.memset(count, 3)
    nisa.memset(one, 1)
    times = nisa.register_alloc(0)
    nisa.register_load(times, count)

    def add(i):
        nisa.dma_copy(dst=part, src=x.ap([[1, 1], [1, 1]], scalar_offset=i, indirect_dim=1))
        nisa.tensor_tensor(total, total, part, nl.add)

    def again(r):
        nisa.tensor_tensor(total, total, total, nl.add)
        nisa.tensor_tensor(count, count, one, nl.subtract)
        nisa.register_load(r, count)
        return r

    nl.fori_loop(0, times, add)
    nl.while_loop(times, again)
    nl.while_loop(nisa.register_alloc(0), again)
    return stored(total)


ROW = np.arange(1, 9, dtype=np.float32).reshape(1, 8)


def test_loops_on_chip_run_as_often_as_registers_say():
    (found,) = execute(summed, {"x": ROW}, version="0.6").outputs
    assert found == [[6 * 2**3]]
    with pytest.raises(KernelError, match=r"unimplemented API nki\.language\.fori_loop"):
        execute(summed, {"x": ROW}, version="0.5")


@pytest.mark.parametrize(
    ("loop", "message"),
    [
        (lambda r: nl.fori_loop(0, 2, lambda i: i), "cannot return a value"),
        (lambda r: nl.fori_loop(0, 2, lambda i: None, step=0), "step must be a positive"),
        (lambda r: nl.fori_loop(0, nl.ndarray((1, 1), nl.int32, nl.sbuf), lambda i: None), "load the tensor into one"),
        (lambda r: nl.while_loop(1, lambda r: None), "returns the next condition"),
        (lambda r: nl.while_loop(1, 5), "the body of a loop is a function"),
    ],
)
def test_what_is_no_loop(loop, message):
    def kernel(x):
        loop(nisa.register_alloc(1))
        return stored(x)

    with pytest.raises(KernelError, match=message):
        execute(kernel, {"x": ROW}, version="0.6")


def test_later_versions_take_no_platform_target(monkeypatch):
    kernel = MODULES["nki"].jit(lambda x: stored(tile_of(x)), platform_target="trn2")
    monkeypatch.setenv("NKI_MIGRATE_TARGET", "0.2")
    assert np.array_equal(kernel(X), X)
    monkeypatch.setenv("NKI_MIGRATE_TARGET", "0.3")
    with pytest.raises(KernelError, match=r"takes no platform_target in NKI 0\.3"):
        kernel(X)


def test_the_decorator_takes_its_function_as_fn():
    assert np.array_equal(MODULES["nki"].jit(fn=lambda x: stored(tile_of(x)))(X), X)


def test_indices_of_a_transpose_count_down_the_columns():
    """``indices.T.flatten()``, API page of dma_transpose from 2.29 on."""
    rows = np.arange(256, dtype=np.float16).reshape(256, 1).repeat(4, axis=1)
    numbers = np.random.default_rng(0).permutation(256).astype(np.uint32).reshape(128, 2)

    def kernel(x, numbers):
        indices = tile_of(numbers)
        turned = nl.ndarray((4, 256), x.dtype, nl.sbuf)
        nisa.dma_transpose(dst=turned, src=x.ap([[4, 256], [1, 4]], vector_offset=indices), axes=(1, 0))
        return stored(turned)

    (found,) = execute(kernel, {"x": rows, "numbers": numbers}, version="0.3").outputs
    assert np.array_equal(found, rows[numbers.T.flatten()].T)


def test_a_gather_by_several_columns_is_undecided():
    def kernel(x):
        indices, tile = nl.zeros((4, 2), nl.int32), nl.ndarray((8, 6), x.dtype, nl.sbuf)
        nisa.dma_copy(dst=tile, src=x.ap([[6, 8], [1, 6]], vector_offset=indices))
        return stored(tile)

    with pytest.raises(NotModelled, match="several rows and columns"):
        execute(kernel, {"x": X.reshape(8, 6)}, version="0.6")


@pytest.mark.parametrize("version", ["0.3", "0.5", "0.6"])
@given(parts=st.lists(st.tuples(*[st.one_of(st.integers(0, n - 1), slices(n)) for n in X.shape]), max_size=3))
def test_a_plain_subscript_of_a_subscript_is_what_the_general_one_is(version, parts):
    """Ints and slices inside of a tensor have a way of their own."""

    def kernel(x):
        for tensor in (x, tile_of(x)):
            for index in parts:
                shown = index[: tensor.ndim]
                try:
                    found, expected = tensor[shown], _subscript(tensor, shown)
                except KernelError:
                    break
                assert (found.shape, found.dropped, found.form) == (expected.shape, expected.dropped, expected.form)
                assert (found.label, found.extents) == (expected.label, expected.extents)
                assert found.array.strides == expected.array.strides and np.array_equal(found.array, expected.array)
                tensor = found
        return stored(tile_of(x))

    execute(kernel, {"x": X}, version=version)
