"""Index vectors and masks: whatever affine subscript a kernel writes, the view has numpy's elements."""

from __future__ import annotations

import itertools
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nki_migrate.runtime.beta1.indexing import Index, Mask, MeshGrid, arange
from nki_migrate.runtime.beta1.launch import launch
from nki_migrate.runtime.beta1.modules import MODULES
from nki_migrate.runtime.beta1.regions import EVERYWHERE, region
from nki_migrate.runtime.beta1.tensor import Tile, whole
from nki_migrate.runtime.errors import KernelError, NotModelled
from nki_migrate.runtime.events import NOTHING
from nki_migrate.runtime.machine import Machine
from nki_migrate.runtime.spec.hardware import TARGETS

nki = MODULES["neuronxcc.nki"]

nl: Any = MODULES["neuronxcc.nki.language"]


def hbm(array: np.ndarray[Any, Any]) -> Tile:
    return whole(Machine(TARGETS["gen3"]).allocate_hbm(array, name="x", role="input"))


def sbuf(array: np.ndarray[Any, Any]) -> Tile:
    machine = Machine(TARGETS["gen3"])
    tile = whole(machine.allocate("sbuf", array.shape, array.dtype, name="t", address=(0, 64)))
    tile.array[...] = array
    return tile


@st.composite
def vectors(draw: Any, rank: int) -> tuple[Index, np.ndarray[Any, Any]]:
    """An affine expression of up to two index vectors of ``rank`` dimensions, and numpy's value of it."""
    extents = [3, 4, 2][:rank]
    total: Any = None
    value: Any = None
    for _ in range(draw(st.integers(1, 2))):
        d = draw(st.integers(0, rank - 1))
        start = draw(st.integers(0, 2))
        vector = arange(start, start + extents[d])
        key = tuple(slice(None) if k == d else None for k in range(rank))
        factor, shift = draw(st.integers(-2, 3)), draw(st.integers(-3, 5))
        term = factor * vector[key] + shift
        number = factor * np.arange(start, start + extents[d])[key] + shift
        total = term if total is None else total + term
        value = number if value is None else value + number
    return total, value


@given(st.data())
def test_arithmetic_agrees_with_numpy(data: Any) -> None:
    rank = data.draw(st.integers(1, 3))
    index, value = data.draw(vectors(rank))
    np.testing.assert_array_equal(index.values(), value)
    assert index.shape == value.shape
    np.testing.assert_array_equal((5 - index).values(), 5 - value)
    np.testing.assert_array_equal((-index).values(), -value)


@settings(max_examples=300)
@given(st.data())
def test_affine_subscripts_agree_with_numpy_fancy_indexing(data: Any) -> None:
    rank = data.draw(st.integers(1, 3))
    dims = data.draw(st.integers(1, 3))
    array = np.arange(20**dims, dtype=np.int32).reshape((20,) * dims)
    keys, numbers = [], []
    for _ in range(dims):
        if data.draw(st.booleans()):
            index, value = data.draw(vectors(rank))
        else:
            index = value = data.draw(st.integers(0, 19))
        keys.append(index)
        numbers.append(value)
    if not any(isinstance(k, Index) for k in keys):
        keys[0], numbers[0] = arange(3), np.arange(3)
    tile = hbm(array)
    low = min(int(np.min(n)) for n in numbers)
    high = max(int(np.max(n)) for n in numbers)
    if low < 0 or high >= 20:
        with pytest.raises(KernelError, match="err_tensor_access_out_of_bound"):
            _ = tile[tuple(keys)].array
    else:
        view = tile[tuple(keys)]
        np.testing.assert_array_equal(view.array, array[tuple(numbers)])
        assert np.may_share_memory(view.array, array)


@given(st.data())
def test_masked_subscripts_agree_with_numpy(data: Any) -> None:
    """Under a mask the elements inside are numpy's, and those outside are never touched, even out of bounds."""
    array = np.arange(20 * 20, dtype=np.int32).reshape(20, 20)
    tile = hbm(array)
    p, f = arange(12)[:, None], arange(15)[None, :]
    a, b = data.draw(st.integers(0, 15)), data.draw(st.integers(0, 15))
    rows, columns = data.draw(st.integers(-2, 22)), data.draw(st.integers(-2, 22))
    mask = region((p + a < rows) & (f + b < columns))
    view = tile[p + a, f + b]
    wanted = [(i, j) for i in range(12) for j in range(15) if i + a < rows and j + b < columns]
    if not wanted:
        assert mask.skip
    elif (rows > 20 and a + 11 >= 20) or (columns > 20 and b + 14 >= 20):
        with pytest.raises(KernelError, match="err_tensor_access_out_of_bound"):
            view.view_in(mask)
    else:
        found = view.view_in(mask).array
        assert found.shape == (1 + max(i for i, _ in wanted), 1 + max(j for _, j in wanted))
        np.testing.assert_array_equal(found.reshape(-1), [array[i + a, j + b] for i, j in wanted])


@given(
    st.integers(-4, 4), st.integers(-30, 30), st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), st.integers(1, 12)
)
def test_one_axis_masks_are_the_positions_where_they_hold(c: int, k: int, op: str, n: int) -> None:
    vector = c * arange(n)[:, None]
    compare = {
        "<": lambda a, b: a < b,
        "<=": lambda a, b: a <= b,
        ">": lambda a, b: a > b,
        ">=": lambda a, b: a >= b,
        "==": lambda a, b: a == b,
        "!=": lambda a, b: a != b,
    }[op]
    truth = [g for g in range(n) if compare(c * g, k)]
    found = region(compare(vector, k))
    if found.skip:
        assert not truth
        return
    inside = np.ones(n, bool)
    if 0 in found.box:
        inside[:] = False
        inside[found.box[0].low : found.box[0].high] = True
    for comparison in found.residual:
        inside &= comparison.values().reshape(-1)
    assert list(np.flatnonzero(inside)) == truth


def test_reversed_comparisons_and_floats() -> None:
    i = arange(8)[:, None]
    assert region(3 > i).box[0].high == 3  # noqa: SIM300
    assert region(i < 3.5).box[0].high == 4
    assert region(i <= 2.5).box[0].high == 3
    assert region(i - 2.0 >= 0.5).box[0].low == 3


def test_masks_with_plain_values() -> None:
    i = arange(8)[:, None]
    mask = i < 4
    assert (mask & True) is mask
    assert (True & mask) is mask
    assert (mask & False) is False
    assert (False & mask) is False
    assert region(None) is EVERYWHERE
    assert region(True) is EVERYWHERE
    assert region(np.bool_(False)).skip
    assert region(mask & (i >= 4)).skip
    with pytest.raises(KernelError, match="err_unsupported_expression_in_mask"):
        region("i < 4")


def test_mask_over_two_axes() -> None:
    p, f = arange(4)[:, None], arange(4)[None, :]
    found = region(p >= f)
    assert not found.box
    where = found.where((4, 4))
    assert where is not None
    np.testing.assert_array_equal(where, np.tri(4, dtype=bool))


def test_mask_over_two_axes_that_guards_bounds() -> None:
    array = np.arange(16, dtype=np.int32).reshape(4, 4)
    p, f = arange(4)[:, None], arange(4)[None, :]
    found = region(p + f < 4)
    gathered = hbm(array)[p + f, 0 * f].view_in(found).array
    inside = np.add.outer(np.arange(4), np.arange(4)) < 4
    np.testing.assert_array_equal(gathered[inside], (4 * np.add.outer(np.arange(4), np.arange(4)))[inside])
    with pytest.raises(KernelError, match="err_tensor_access_out_of_bound"):
        hbm(array)[p + f, 0 * f].view_in(region(p + f < 5))


def test_mgrid_components() -> None:
    grid = MeshGrid()[0:128, 2:6, 0:3]
    assert grid.p is grid[0] and grid.x is grid[1] and grid.y is grid[2]
    assert [part.shape for part in grid] == [(128, 4, 3)] * 3
    for part, expected in zip(grid, np.mgrid[0:128, 2:6, 0:3], strict=True):
        np.testing.assert_array_equal(np.broadcast_to(part.values(), part.shape), expected)
    p, x = MeshGrid()[:4, :5]
    np.testing.assert_array_equal((p * 5 + x).values(), np.arange(20).reshape(4, 5))
    with pytest.raises(KernelError, match="start:stop"):
        _ = MeshGrid()[0:4:2, 0:3]


def test_a_grid_is_a_subscript() -> None:
    array = np.arange(12, dtype=np.int32).reshape(3, 4)
    np.testing.assert_array_equal(hbm(array)[MeshGrid()[1:3, 0:2]].array, array[1:3, 0:2])


def test_not_affine() -> None:
    i = arange(8)[:, None]
    for bad in (lambda: i % 2, lambda: i // 2, lambda: i / 2, lambda: i * 1.5):
        with pytest.raises(KernelError, match="not an affine expression"):
            bad()
    with pytest.raises(KernelError, match="err_cannot_assign_to_index"):
        i[0, 0] = 1
    with pytest.raises(KernelError, match="err_cannot_assign_to_index"):
        (i < 2)[0, 0] = True
    with pytest.raises(NotModelled):
        (i < 2) | (i > 4)


def test_control_flow_on_vectors() -> None:
    i = arange(8)[:, None]
    mask = i < 4
    with pytest.raises(KernelError, match="err_control_flow_condition_depending_on_arange"):
        if i:
            pass
    with pytest.raises(KernelError, match="err_control_flow_condition_depending_on_arange"):
        if mask:
            pass
    with pytest.raises(KernelError, match="err_control_flow_condition_depending_on_arange"):
        if True and i < 4:
            pass
    other = i < 2
    assert (other if mask else None) is other
    assert (mask and other) is other


# --- tiles -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "shape"),
    [
        ((slice(None), 0), (4, 2)),
        ((slice(None), 0, 1), (4, 1)),
        ((0, slice(None)), (1, 6, 2)),
        ((0, 1, 1), (1, 1)),
        ((slice(0, 3), 2, slice(None)), (3, 2)),
        ((slice(None), slice(1, 5), 0), (4, 4)),
        (Ellipsis, (4, 6, 2)),
        ((Ellipsis, 1), (4, 6)),
        ((0, Ellipsis), (1, 6, 2)),
        ((slice(1, 3),), (2, 6, 2)),
        ((slice(None), slice(0, 6, 2)), (4, 3, 2)),
    ],
)
def test_on_chip_shapes_keep_the_partitions(key: Any, shape: tuple[int, ...]) -> None:
    array = np.arange(48, dtype=np.float32).reshape(4, 6, 2)
    view = sbuf(array)[key]
    assert view.shape == shape
    np.testing.assert_array_equal(view.array.reshape(-1), array[key].reshape(-1))


def test_hbm_shapes_are_numpys() -> None:
    array = np.arange(48, dtype=np.float32).reshape(4, 6, 2)
    for key in itertools.product([0, slice(None), slice(1, 2)], repeat=3):
        np.testing.assert_array_equal(hbm(array)[key].array, array[key])


@pytest.mark.parametrize("key", [np.s_[4:4, 3:], np.s_[2:2], np.s_[3:2], np.s_[:, 6:6], np.s_[4:4, 2, 1:]], ids=str)
def test_a_part_without_elements(key: Any) -> None:
    array = np.zeros((4, 6, 2), np.float32)
    assert hbm(array)[key].array.shape == array[key].shape
    assert sbuf(array)[key].array.size == 0


def test_a_load_of_no_rows_is_recorded() -> None:
    @nki.jit
    def kernel(x: Any, rows: int) -> Any:
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.load(x)
        rest = nl.load(x[4 - rows :])
        nl.store(out, tile)
        nl.store(out[4 - rows :], rest)
        return out

    x = np.ones((4, 6), np.float32)
    for rows in (2, 0):
        events = launch(kernel, {"x": x, "rows": rows}, record=True).machines[0].events
        assert [event.op for event in events] == ["dma_copy"] * 4
        assert events[1].operands[0].steps == (((1, 0, rows), (0, 4, 6)) if rows else NOTHING)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("t = nl.copy(c[:, 0], mask=i * 2 + j < 9)", "a mask over [4, 6] elements does not fit a tile of [4, 2]"),
        ("t = nl.copy(b[nl.ds(0, 1)])", "a slice or a vector across a block dimension"),
    ],
)
def test_what_fits_nothing_is_an_error_of_the_kernel(body: str, problem: str) -> None:
    source = f"""
@nki.jit
def kernel(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    i, j = nl.arange(4)[:, None], nl.arange(6)[None, :]
    b = nl.zeros((2, nl.par_dim(4), 6), dtype=nl.float32, buffer=nl.sbuf)
    c = nl.zeros((4, 3, 2), dtype=nl.float32, buffer=nl.sbuf)
    {body}
    return out
"""
    space: dict[str, Any] = {"nki": nki, "nl": nl}
    exec(compile(source, "a kernel", "exec"), space)
    with pytest.raises((KernelError, NotModelled)) as error:
        launch(space["kernel"], {"x": np.zeros((4, 6), np.float32)})
    assert problem in str(error.value)


def test_ds_is_a_slice() -> None:
    array = np.arange(24, dtype=np.float32).reshape(4, 6)
    np.testing.assert_array_equal(sbuf(array)[:, nl.ds(2, 3)].array, array[:, 2:5])


def test_views_of_views_are_live() -> None:
    array = np.zeros((4, 8), np.float32)
    tile = sbuf(array)
    view = tile[1:3, :][:, 2:6][0:1, 1:2]
    view.array[...] = 7
    assert tile.array[1, 3] == 7
    assert tile.array.sum() == 7


def test_reshape_and_broadcast_are_views() -> None:
    array = np.arange(24, dtype=np.float32).reshape(4, 6)
    tile = sbuf(array)
    np.testing.assert_array_equal(tile.reshape((4, 2, 3)).array, array.reshape(4, 2, 3))
    assert np.may_share_memory(tile.reshape((4, 2, 3)).array, tile.array)
    np.testing.assert_array_equal(tile[:, 0:1].broadcast_to((4, 9)).array, np.broadcast_to(array[:, :1], (4, 9)))
    assert tile.expand_dims(-1).shape == (4, 6, 1)
    assert tile.view(np.uint8).shape == (4, 24)
    np.testing.assert_array_equal(tile.view(np.int32).array, array.view(np.int32))
    with pytest.raises(KernelError, match="would change its partition dimension"):
        tile.reshape((2, 12))
    with pytest.raises(KernelError, match="would need a copy"):
        tile.reshape((4, 2, 3))[:, :, 0:2].reshape((4, 4))
    with pytest.raises(KernelError, match="cannot reshape"):
        tile.reshape((4, 7))


@pytest.mark.parametrize(
    ("key", "code"),
    [
        ((slice(None), slice(0, 7)), "err_tensor_access_out_of_bound"),
        ((slice(None), 6), "err_tensor_access_out_of_bound"),
        ((slice(None), -1), "err_tensor_access_out_of_bound"),
        ((4, slice(None)), "err_tensor_access_out_of_bound"),
        ((arange(4), 0), "err_1d_arange_not_supported"),
        ((arange(4)[:, None], slice(None)), "err_unsupported_mixing_basic_advanced_tensor_indexing"),
        ((arange(4)[:, None], Ellipsis), "err_unsupported_mixing_basic_advanced_tensor_indexing"),
        ((0, 0, 0), "too many indices"),
        ((Ellipsis, Ellipsis), "more than one"),
        (("a", 0), "cannot index a tensor"),
        ((slice(-2, None), 0), "negative index"),
        ((arange(4)[None, :], arange(6)[:, None]), "along the first axis"),
    ],
)
def test_illegal_subscripts(key: Any, code: str) -> None:
    tile = sbuf(np.zeros((4, 6), np.float32))
    with pytest.raises(KernelError, match=code):
        _ = tile[key].array


@pytest.mark.parametrize("key", [(1.0, slice(0, 4)), (1, (0, 4, None)), ((1, 2, None), 0)])
def test_what_equals_a_legal_subscript_is_not_taken_for_it(key: Any) -> None:
    tile = sbuf(np.arange(32, dtype=np.float32).reshape(4, 8))
    assert tile[1, 0:4].shape == (1, 4)
    assert tile[1:2, 0].shape == (1, 1)
    with pytest.raises(KernelError, match="cannot index a tensor"):
        tile[key]


def test_the_message_names_tensor_dimension_and_range() -> None:
    i = arange(512)[None, :]
    with pytest.raises(
        KernelError, match=r"tensor `x` on dimension 1: index range \[3584, 4095\] exceed dimension size of 4000"
    ):
        _ = hbm(np.zeros((1, 4000), np.float32))[0 * i, 7 * 512 + i].array


def test_mask_shape_broadcasts() -> None:
    mask = (arange(4)[:, None] < 2) & (arange(5)[None, :] < 3)
    assert isinstance(mask, Mask)
    assert mask.shape == (4, 5)
    assert mask.values().sum() == 6


def test_a_column_of_fewer_dimensions_is_the_partition_index() -> None:
    """``conv.py:822`` of nki-samples: ``[:, None, None]`` beside index vectors of four dimensions."""

    @nki.jit
    def kernel(x: Any) -> Any:
        channels, rows, columns, images = x.shape
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.load(x)
        moved = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
        c, _, _, _ = nl.mgrid[0:channels, 0:1, 0:1, 0:1]
        i = nl.arange(rows)[None, :, None, None]
        j = nl.arange(columns)[None, None, :, None]
        n = nl.arange(images)[None, None, None, :]
        column = nl.arange(channels)[:, None, None]
        moved[column, i, j, n] = nl.copy(tile[c, i, j, n])
        nl.store(out[column, i, j, n], value=moved[column, i, j, n])
        return out

    for shape in ((5, 3, 2, 2), (3, 3, 2, 2), (5, 1, 2, 1)):
        x = np.arange(prod(shape), dtype=np.float32).reshape(shape)
        np.testing.assert_array_equal(kernel(x), x)


def test_a_column_beside_other_partitions_is_refused() -> None:
    @nki.jit
    def kernel(x: Any) -> Any:
        out = nl.ndarray((4, 2), dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(out, value=nl.load(x[nl.arange(4)[:, None], nl.arange(4)[:, None, None], 0]))
        return out

    with pytest.raises(NotModelled, match="a column beside index vectors with partitions of their own"):
        kernel(np.zeros((4, 4, 2), np.float32))


def test_vectors_of_different_ranks_broadcast() -> None:
    x = np.arange(4 * 8, dtype=np.float32).reshape(4, 8)
    found = hbm(x)[arange(3)[:, None], arange(2, 7)]
    np.testing.assert_array_equal(found.array, x[:3, 2:7])


def test_a_constant_that_is_a_whole_float_is_an_index() -> None:
    x = np.arange(4 * 8, dtype=np.float32).reshape(4, 8)
    for start in (2.0, 2, np.int64(2), 2.0):
        found = hbm(x)[arange(2)[:, None] + start, arange(8)[None, :]]
        np.testing.assert_array_equal(found.array, x[2:4])
    with pytest.raises(KernelError, match=r"2\.5 is not an integer index"):
        _ = hbm(x)[arange(2)[:, None] + 2.5, arange(8)[None, :]]
