"""Beta 2 tensors: declaration, subscripts, access patterns, reshapes, and the front end's messages."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nki_migrate.runtime import session
from nki_migrate.runtime.beta2 import state
from nki_migrate.runtime.beta2.declare import declare
from nki_migrate.runtime.beta2.modules import MODULES
from nki_migrate.runtime.beta2.subscripts import bounds_of, plain_cut
from nki_migrate.runtime.errors import KernelError, NotModelled
from nki_migrate.runtime.machine import Machine
from nki_migrate.runtime.spec.hardware import TARGETS
from nki_migrate.runtime.spec.versions import V02, V03

nl, nisa = MODULES["nki.language"], MODULES["nki.isa"]


@pytest.fixture(autouse=True)
def kernel():
    """Every test runs as the body of a kernel on gen3."""
    running = session.Session(Machine(TARGETS["gen3"]), dialect="beta2")
    state.install(running, state.State(declare, V02))
    with session.running(running):
        yield running


def filled(shape, dtype="int32", buffer=None, **kwargs):
    """A tensor whose elements are numbered row by row."""
    tensor = nl.ndarray(shape, dtype, buffer, **kwargs)
    tensor.array[...] = np.arange(np.prod(shape)).reshape(shape).astype(tensor.dtype)
    return tensor


# --- declaration ---


def test_tensors_at_overlapping_addresses_share_their_bytes():
    whole = nl.ndarray((128, 8), nl.int32, nl.sbuf, address=(0, 64))
    part = nl.ndarray((32, 2), nl.int32, nl.sbuf, address=(32, 72))
    nisa.memset(whole, 7)
    nisa.memset(part, 9)
    assert whole.array[32:64, 2:4].tolist() == [[9, 9]] * 32
    assert (whole.array == 9).sum() == 64


def test_tensors_without_address_never_share():
    tensors = [nl.ndarray((128, 4), nl.int32, nl.sbuf) for _ in range(3)]
    for number, tensor in enumerate(tensors):
        nisa.memset(tensor, number)
    assert [int(tensor.array[0, 0]) for tensor in tensors] == [0, 1, 2]


def test_a_name_can_be_given_once():
    nl.ndarray((1, 1), nl.int32, nl.sbuf, name="x")
    with pytest.raises(KernelError, match="Tensor name 'x' already in use"):
        nl.ndarray((1, 1), nl.int32, nl.sbuf, name="x")


def test_name_wins_over_the_variable():
    a = nl.ndarray((1, 1), nl.int32, nl.sbuf, name="given")
    b = nl.ndarray((1, 1), nl.int32, nl.sbuf)
    assert (a.name, b.name) == ("given", "b")


@pytest.mark.parametrize(
    ("shape", "buffer", "address", "message"),
    [
        ((129, 4), "sbuf", None, "number of partitions 129 exceed"),
        ((128, 4), "sbuf", (0, 212984 - 12), r"\[212972, 212988\) of a partition, gen3 has \[0, 212984\)"),
        ((64, 4), "sbuf", (32, 0), "start partition 32"),
        ((128, 512), "psum", (0, 4), "crosses the boundary of bank 0"),
        ((128, 513), "psum", (0, 0), "2052 bytes in a partition, a bank has 2048"),
        ((128, 4), "psum", (0, 8 * 2048), "PSUM tile"),
        ((128, 4), "shared_hbm", (0, 0), "address= is for sbuf and psum"),
        ((128, 4), "sbuf", (0, -4), "expecting positive 'integer'"),
        ((128, 4), "sbuf", 4, "expecting 'pair', got 'int'"),
        ((), "sbuf", None, "invalid shape"),
        (128, "sbuf", None, r"expecting sequence \('list' or 'tuple'\), got 'int'"),
    ],
)
def test_declarations_that_hardware_or_front_end_refuse(shape, buffer, address, message):
    with pytest.raises(KernelError, match=message):
        nl.ndarray(shape, nl.float32, getattr(nl, buffer), address=address)


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.float16])
def test_numpy_types_are_refused(dtype):
    with pytest.raises(KernelError, match=r"numpy dtypes are not supported as arguments. Use nki.language.X instead"):
        nl.ndarray((1, 1), dtype, nl.sbuf)


def test_types_of_four_packed_elements_are_copied_and_not_computed_with():
    a, b = (nl.ndarray((4, 2), nl.float8_e4m3fn_x4, nl.sbuf) for _ in range(2))
    nisa.memset(a, 0)
    nisa.tensor_copy(b, a)
    assert not b.array.view(np.uint32).any()
    with pytest.raises(KernelError, match="float8_e4m3fn_x4 can be set to 0 only"):
        nisa.memset(a, 1)
    for use in (lambda: nisa.tensor_tensor(a, a, b, nl.add), lambda: nisa.tensor_copy(filled((4, 2)), a)):
        with pytest.raises(KernelError, match="an element of type float8_e4m3fn_x4 is four packed numbers"):
            use()


def test_tfloat32_can_be_named_only():
    with pytest.raises(NotModelled, match="tfloat32"):
        nl.ndarray((1, 1), nl.tfloat32, nl.sbuf)


def test_mixed_placement_is_an_error_from_0_3_on(kernel):
    nl.ndarray((1, 1), nl.int32, nl.sbuf)
    nl.ndarray((1, 1), nl.int32, nl.sbuf, address=(0, 0))
    state.install(kernel, state.State(declare, V03))
    nl.ndarray((1, 1), nl.int32, nl.sbuf)
    with pytest.raises(KernelError, match="Cannot mix manual and automatic allocations for SBUF/PSUM"):
        nl.ndarray((1, 1), nl.int32, nl.sbuf, address=(0, 0))


def test_addresses_print_and_compare_as_pairs():
    pinned = nl.ndarray((128, 4), nl.bfloat16, nl.sbuf, address=(0, 1024))
    loose = nl.ndarray((128, 4), nl.bfloat16, nl.sbuf)
    assert f"{pinned.address}" == "(0, 1024)"
    assert (pinned.address, pinned.address.start, pinned.address.size) == ((0, 1024), (0, 1024), (128, 8))
    assert loose.address.start == (None, None)


# --- subscripts ---


def test_an_integer_drops_its_dimension_from_the_shape_only():
    t = filled((4, 8, 2))
    assert t[1].shape == (8, 2)
    assert t[1].array.shape == (1, 8, 2)
    assert t[:, 3].shape == (4, 2)
    assert t[1, 2:4, 0].shape == (2,)


@pytest.mark.parametrize(
    "index",
    [slice(0, 5), slice(4, 4), slice(-5, None), 4, -1, (0, 8), (0, slice(0, 9)), (slice(None), slice(8, 8))],
)
def test_indices_outside_are_refused(index):
    with pytest.raises(KernelError, match="index out of range of tensor dimension"):
        filled((4, 8))[index]


def test_more_indices_than_dimensions_are_refused():
    with pytest.raises(KernelError, match="too many indexes for shape"):
        filled((4, 8))[0, 0, 0]


@pytest.mark.parametrize("index", [slice(0, 4, 2), (slice(None), slice(None, None, 4))])
def test_a_stepped_slice_is_an_error_that_names_the_way_out(index):
    with pytest.raises(KernelError, match=r"drops the stride.*t\.ap\("):
        filled((4, 8))[index]


def test_none_is_no_new_axis():
    with pytest.raises(KernelError, match="None is not a new axis"):
        filled((4, 8))[:, None]


def test_a_slice_of_a_slice_adds_the_offsets():
    t = filled((8, 8))
    assert np.array_equal(t[2:6, 1:5][1:3, 1:2].array, t.array[3:5, 2:3])
    assert np.array_equal(t[2:6, 1:5][1:3, 1:3][0:1, 1:2].array, t.array[3:4, 3:4])
    assert np.array_equal(t[2:6][1:3][0:1].array, t.array[3:4])
    for index in (slice(None), slice(0, None), slice(-1, 2)):
        with pytest.raises(KernelError, match=r"bounds of a third subscript in the whole tensor, of shape \(8, 8\)"):
            t[2:6][1:3][index]
        for first in ((slice(2, 6), ...), slice(-6, 6)):
            with pytest.raises(KernelError, match=r"in the whole tensor, of shape \(8, 8\)"):
                t[first][1:3][index]
    with pytest.raises(KernelError, match="nested indexing"):
        t[2][1:3]


@st.composite
def _subscripts(draw):
    shape = draw(st.lists(st.integers(1, 6), min_size=1, max_size=4).map(tuple))
    index = []
    for extent in shape[: draw(st.integers(0, len(shape)))]:
        if draw(st.booleans()):
            index.append(draw(st.integers(0, extent - 1)))
        else:
            start = draw(st.integers(0, extent - 1))
            index.append(slice(start, draw(st.integers(start, extent))))
    if draw(st.booleans()):
        index.append(...)
    return shape, tuple(index)


@given(_subscripts())
def test_subscripts_select_what_numpy_selects(case):
    shape, index = case
    running = session.Session(Machine(TARGETS["gen3"]), dialect="beta2")
    state.install(running, state.State(declare, V02))
    with session.running(running):
        t = filled(shape, buffer=nl.shared_hbm)
        assert np.array_equal(t[index].array.reshape(t[index].shape), t.array[index])


# --- what tensors refuse ---


@pytest.mark.parametrize(
    "use", [lambda t: t + 1, lambda t: 2 * t, lambda t: -t, lambda t: t < t, lambda t: t @ t, lambda t: t & 1]
)
def test_operators_are_refused(use):
    with pytest.raises(KernelError, match=r"binary operators on tensors not supported. Use nki.isa directly."):
        use(filled((2, 2)))


def test_a_tensor_is_true_and_takes_no_assignment():
    """``if params.index:`` asks whether there is a tensor (nkilib's mlp_tkg_constants)."""
    t = filled((2, 2))
    assert t
    assert filled((1, 1))
    with pytest.raises(KernelError, match="Updating a tile with lvalue assignment is not allowed"):
        t[0:1] = t


# --- access patterns ---


@pytest.mark.parametrize("buffer", ["sbuf", "shared_hbm"])
def test_pattern_elements_are_offset_plus_steps(buffer):
    t = filled((4, 24), buffer=getattr(nl, buffer))
    view = t.ap([[24, 2], [1, 3], [6, 4]], offset=24 + 1)
    expected = [[[24 + 1 + 24 * p + a + 6 * b for b in range(4)] for a in range(3)] for p in range(2)]
    assert view.shape == (2, 3, 4)
    assert view.array.tolist() == expected


def test_a_step_of_zero_repeats():
    t = filled((4, 8))
    assert t.ap([[8, 4], [1, 2], [0, 3]]).array[1].tolist() == [[8, 8, 8], [9, 9, 9]]


def test_patterns_of_another_type_count_its_elements():
    t = filled((4, 8))
    low = t.ap([[32, 4], [4, 8]], dtype=nl.uint8)
    assert low.dtype == nl.uint8
    assert low.array.tolist() == (t.array & 255).tolist()


@pytest.mark.parametrize(
    ("pattern", "offset", "message"),
    [
        ([[16, 2], [1, 8]], 0, "walks partitions: it must be 8"),
        ([[8, 4, 1]], 0, "expecting 'pair', got 'list'"),
        ([], 0, r"needs at least one \[step, count\] pair"),
    ],
)
def test_impossible_patterns_are_refused(pattern, offset, message):
    with pytest.raises(KernelError, match=message):
        filled((4, 8)).ap(pattern, offset)


@pytest.mark.parametrize(
    ("pattern", "offset", "message"),
    [
        ([[8, 5], [1, 8]], 0, r"partitions \[0, 5\) of 4"),
        ([[8, 4], [1, 8]], 1, r"elements of a partition \[1, 8\] of 8"),
        ([[8, 4], [2, 5]], 0, r"elements of a partition \[0, 8\] of 8"),
    ],
)
def test_patterns_outside_the_tensor_are_refused_when_an_instruction_uses_them(pattern, offset, message):
    """A loop may write one down for a last step that it skips (nkilib's output_projection_tkg)."""
    view = filled((4, 8)).ap(pattern, offset)
    assert view.shape == tuple(count for _, count in pattern)
    with pytest.raises(KernelError, match=message):
        nisa.memset(view, 0)


def test_patterns_are_for_whole_tensors_only():
    with pytest.raises(KernelError, match="cannot specify an access pattern on an already indexed tensor"):
        filled((4, 8))[0:2].ap([[8, 2], [1, 8]])
    with pytest.raises(KernelError, match="subscript not supported"):
        filled((4, 8)).ap([[8, 2], [1, 8]])[0:1]


@given(st.data())
def test_an_hbm_pattern_reads_what_the_formula_says(data):
    shape = data.draw(st.tuples(st.integers(1, 6), st.integers(1, 12)))
    size = shape[0] * shape[1]
    pairs = data.draw(st.lists(st.tuples(st.integers(0, 4), st.integers(1, 4)), min_size=1, max_size=3))
    reach = sum(step * (count - 1) for step, count in pairs)
    offset = data.draw(st.integers(0, size))
    running = session.Session(Machine(TARGETS["gen3"]), dialect="beta2")
    state.install(running, state.State(declare, V02))
    with session.running(running):
        t = filled(shape, buffer=nl.shared_hbm)
        if offset + reach >= size:
            with pytest.raises(KernelError, match="leaves the tensor"):
                t.ap(pairs, offset).resolved()
            return
        view = t.ap(pairs, offset).array
    for index in np.ndindex(*view.shape):
        assert view[index] == offset + sum(i * step for i, (step, _) in zip(index, pairs, strict=True))


# --- reshape and view ---


def test_reshape_keeps_the_address_and_the_order():
    t = filled((4, 8), address=(0, 96))
    r = t.reshape((4, 2, 4))
    assert r.address == (0, 96)
    assert r.array.reshape(4, 8).tolist() == t.array.tolist()
    nisa.memset(r, 5)
    assert (t.array == 5).all()


def test_reshape_limits():
    t = filled((4, 8))
    with pytest.raises(KernelError, match="Tensor does not fit within memory location"):
        t.reshape((2, 16))
    with pytest.raises(KernelError, match="cannot reshape a complex access pattern"):
        t[0:2].reshape((2, 8))
    hbm = filled((4, 8), buffer=nl.shared_hbm)
    assert hbm.reshape((2, 16)).array.ravel().tolist() == list(range(32))
    with pytest.raises(KernelError, match=r"shape has size 160 \(bytes\), which is too large for buffer of size 128"):
        hbm.reshape((5, 8))


def test_view_puts_another_type_on_the_same_bytes():
    t = filled((4, 8), address=(0, 0))
    v = t.view(nl.uint8, (4, 32), name="bytes")
    assert (v.name, v.address, v.array[0, 4]) == ("bytes", (0, 0), 1)
    with pytest.raises(KernelError, match="shape is too large for memory region"):
        t.view(nl.int32, (4, 9))
    with pytest.raises(KernelError, match="partition size is too large for memory region"):
        t.view(nl.int32, (5, 8))


def test_pointers_are_regions_of_sbuf():
    region = nl.sbuf[32:64, 128:256]
    assert (region.start, region.size) == ((32, 128), (32, 128))
    assert region.view(nl.float32, (32, 32)).address == (32, 128)
    with pytest.raises(KernelError, match="shape is too large for memory region"):
        region.view(nl.float32, (32, 33))
    with pytest.raises(KernelError, match="partition dimension must be 0, 32, 64, or 96"):
        nl.sbuf[5:32, 0:128]
    with pytest.raises(KernelError, match="free dimension start 5 must be even"):
        nl.sbuf[0:32, 5:128]


def test_offset_and_pattern_count_elements_of_the_tensor():
    t = filled((8, 4, 6))
    part = t[2:4, 1, 0:3]
    assert part.offset == 2 * 24 + 6
    assert part.pattern == ((24, 2), (6, 1), (1, 3))


_PARTS = st.one_of(
    st.integers(-2, 5),
    st.booleans(),
    st.sampled_from([None, ..., 1.0]),
    st.builds(slice, *[st.one_of(st.none(), st.integers(-2, 5))] * 2, st.sampled_from([None, None, 1, 2])),
)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=3), st.lists(_PARTS, min_size=1, max_size=4))
def test_a_plain_subscript_takes_what_its_bounds_say(extents, parts):
    shape = tuple(extents)
    plain = plain_cut(shape, tuple(parts))
    try:
        bounds = bounds_of(shape, parts)
    except KernelError:
        assert plain is None
        return
    if plain is not None:
        array, (cut, dropped) = np.arange(np.prod(shape)).reshape(shape), plain
        np.testing.assert_array_equal(array[cut], array[tuple(slice(start, stop) for start, stop, _ in bounds)])
        assert dropped == tuple(d for d, (_, _, integer) in enumerate(bounds) if integer)
