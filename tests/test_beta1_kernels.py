"""Kernels of our own, one for each thing that a public kernel needed and the emulator once got wrong."""

from __future__ import annotations

import unittest
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from nki_migrate.runtime.beta1.chip import NeedsHardware
from nki_migrate.runtime.beta1.launch import launch
from nki_migrate.runtime.beta1.modules import MODULES
from nki_migrate.runtime.errors import KernelError, NotModelled, shown

nki: Any = MODULES["neuronxcc.nki"]
nl: Any = MODULES["neuronxcc.nki.language"]
nisa: Any = MODULES["neuronxcc.nki.isa"]
nt: Any = MODULES["neuronxcc.nki.typing"]


def test_a_grid_component_alone_has_the_shape_of_its_grid() -> None:
    """``reference/vision.py:114``: ``iota`` of two components fills all four dimensions."""

    @nki.jit
    def kernel(x: Any) -> Any:
        out = nl.ndarray((4, 3, 2, 5), dtype=nl.int32, buffer=nl.shared_hbm)
        window = nl.mgrid[0:4, 0:3, 0:2, 0:5]
        indices: nt.tensor[4, 3, 2, 5] = nisa.iota(5 * window.y + window.z, dtype=nl.int32)
        nl.store(out, indices)
        return out

    expected = np.broadcast_to(np.arange(10).reshape(2, 5), (4, 3, 2, 5))
    np.testing.assert_array_equal(kernel(np.zeros((4, 1), np.float32)), expected)


@pytest.mark.parametrize("spelling", ["operator", "function"])
def test_a_quotient_of_integers_loses_its_fraction(spelling: str) -> None:
    """``reference/vision.py:219``: the row of a position is ``floor(position / width)``."""

    @nki.jit
    def kernel(x: Any) -> Any:
        out = nl.ndarray((128, 1), dtype=nl.int32, buffer=nl.shared_hbm)
        position = nisa.iota(nl.arange(128)[:, None], dtype=nl.int32)
        row = nl.floor(position / 38 if spelling == "operator" else nl.divide(position, 38), dtype=nl.int32)
        nl.store(out, row)
        return out

    np.testing.assert_array_equal(kernel(np.zeros((1, 1), np.float32))[:, 0], np.arange(128) // 38)


def test_a_quotient_that_is_asked_for_in_fp32_keeps_its_fraction() -> None:
    @nki.jit
    def kernel(x: Any) -> Any:
        out = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.shared_hbm)
        nl.store(out, nl.divide(nl.load(x), 2, dtype=nl.float32))
        return out

    np.testing.assert_array_equal(kernel(np.array([[1, 2, 7]], np.int32)), [[0.5, 1, 3.5]])


def test_reshape_takes_its_shape_by_keyword() -> None:
    """``reference/vision.py:202``."""

    @nki.jit
    def kernel(x: Any) -> Any:
        out = nl.ndarray((4, 6), dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(out.reshape(shape=(2, 2, 6))[1], nl.load(x.reshape(shape=(4, 6))[2:4]))
        nl.store(out.reshape((2, 12))[0:1], nl.load(x.reshape(2, 12)[0:1]))
        return out

    x = np.arange(24, dtype=np.float32).reshape(2, 2, 6)
    np.testing.assert_array_equal(kernel(x), x.reshape(4, 6))


@pytest.mark.parametrize("n", [3, 512, 514, 1200, 1201])
@pytest.mark.parametrize(("p_step", "f_step"), [(4, 1), (1, 128)])
def test_a_mask_may_keep_the_last_elements_of_a_flat_tensor_in_bounds(n: int, p_step: int, f_step: int) -> None:
    """Kernels that were generated from Triton index with one expression of both axes."""

    @nki.jit
    def kernel(x: Any) -> Any:
        out = nl.ndarray((n,), dtype=x.dtype, buffer=nl.shared_hbm)
        for block in nl.affine_range((n + 511) // 512):
            i_p, i_f = nl.mgrid[0:128, 0:4]
            at = block * 512 + i_p * p_step + i_f * f_step
            tile = nl.add(nl.load(x[at], mask=at < n), 1.0)
            nl.store(out[at], tile, mask=at < n)
        return out

    x = np.arange(n, dtype=np.float32)
    np.testing.assert_array_equal(kernel(x), x + 1)


def test_what_is_no_tile_is_named() -> None:
    @nki.jit
    def kernel(x: Any) -> Any:
        return nl.where(nl.arange(4)[:, None], nl.load(x), 0.0)

    with pytest.raises(
        KernelError, match=r"'condition' of 'where' to be a tile, got an index vector of shape \[4, 1\]"
    ):
        kernel(np.zeros((4, 4), np.float32))


def test_what_no_parameter_takes_is_what_kwargs_catches() -> None:
    @nki.jit
    def kernel(x: Any, **kwargs: Any) -> Any:
        out = nl.ndarray((2, 4), dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(out, nl.add(nl.load(x), nl.load(kwargs["y"])), mask=nl.arange(2)[:, None] < kwargs["rows"])
        nl.store(out[kwargs["rows"] : 2], nl.load(x[kwargs["rows"] : 2]))
        return out

    x, y = np.ones((2, 4), np.float32), np.full((2, 4), 2, np.float32)
    np.testing.assert_array_equal(launch(kernel, {"x": x, "y": y, "rows": 1}).outputs[0][:, 0], [3, 1])


def test_a_transpose_without_a_declaration_is_copied_to_sbuf_for_a_matmul() -> None:
    """``reference/attention.py:999-1002``."""

    @nki.jit
    def kernel(a: Any, b: Any) -> Any:
        out = nl.ndarray((3, 5), dtype=nl.float32, buffer=nl.shared_hbm)
        a_t = nisa.nc_transpose(nl.load(a))
        product = nisa.nc_matmul(a_t, nl.load(b))
        nl.store(out, nl.copy(product))
        return out

    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((3, 4), np.float32), rng.standard_normal((4, 5), np.float32)
    np.testing.assert_allclose(kernel(a, b), a @ b, rtol=1e-6)
    run = launch(kernel, {"a": a, "b": b}, record=True)
    assert [event.op for event in run.machines[0].events].count("tensor_copy") == 2


def test_a_declared_psum_tile_is_no_operand_of_a_matmul() -> None:
    @nki.jit
    def kernel(a: Any, b: Any) -> Any:
        a_t = nl.ndarray((4, 3), dtype=nl.float32, buffer=nl.psum)
        a_t[...] = nisa.nc_transpose(nl.load(a))
        return nisa.nc_matmul(a_t, nl.load(b))

    with pytest.raises(KernelError, match="err_unsupported_memory: Expected operand 'stationary' of 'nc_matmul'"):
        kernel(np.zeros((3, 4), np.float32), np.zeros((4, 5), np.float32))


@pytest.mark.parametrize("dtype", ["float8_e5m2", "float32"])
def test_a_double_row_matmul_takes_fp8_alone(dtype: str) -> None:
    """TensorE packs two of these into one element (NKI API, ``nki.isa.matmul_perf_mode``): "Double FP8 mode"."""

    @nki.jit
    def kernel(a: Any) -> Any:
        out = nl.ndarray((16, 16), dtype=nl.float32, buffer=nl.shared_hbm)
        tile = nl.load(a, dtype=getattr(nl, dtype))
        nl.store(out, nl.copy(nisa.nc_matmul(tile, tile, perf_mode="double_row_gen3")))
        return out

    a = np.ones((32, 2, 16), np.float32)
    if dtype == "float32":
        with pytest.raises(KernelError, match="double_row_gen3 stationary must be float8_e4m3 or float8_e5m2, not flo"):
            kernel(a)
    else:
        assert (kernel(a) == 64).all()


def test_an_argument_that_is_only_described_is_zeros() -> None:
    """The matrix multiplication tutorial benchmarks with ``nt.tensor[[8192, 4096], nl.bfloat16]``."""

    @nki.benchmark(warmup=5, iters=10)
    def kernel(x: Any) -> Any:
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(out, nl.load(x))
        return out

    out = kernel(nt.tensor[[4, 6], nl.bfloat16])
    assert (out.shape, out.dtype, out.astype(np.float32).any()) == ((4, 6), ml_dtypes.bfloat16, False)
    assert kernel.benchmark_result.nc_latency.get_latency_percentile(99) > 0


def test_dropout_with_a_probability_that_is_none_is_skipped_as_a_test() -> None:
    """AWS's test of ``nisa.dropout`` draws its probabilities from [0, 100)."""

    @nki.jit
    def kernel(x: Any, p: Any) -> Any:
        return nisa.dropout(nl.load(x), prob=nl.load(p))

    with pytest.raises(NeedsHardware, match=r"dropout with a probability outside \[0, 1\]") as raised:
        kernel(np.ones((2, 4), np.float32), np.array([[0.5], [3]], np.float32))
    assert isinstance(raised.value, unittest.SkipTest) and isinstance(raised.value, NotModelled)


def test_an_array_that_the_caller_cannot_change_is_no_output() -> None:
    """An old style kernel writes to its parameters; a read-only array would lose that silently."""

    @nki.jit(kernel_return=False)
    def kernel(x: Any, out: Any) -> None:
        nl.store(out, nl.load(x))

    out = np.zeros((2, 2), np.float32)
    kernel(np.ones((2, 2), np.float32), out)
    assert out.all()
    out[...] = 0
    out.flags.writeable = False
    with pytest.raises(KernelError, match="writes to its parameter 'out'"):
        kernel(np.ones((2, 2), np.float32), out)


def test_a_block_index_may_be_out_of_bounds_where_nothing_executes() -> None:
    """``blockwise_mm.py:860``: the mask of the last bank is false, and there is no such block."""

    @nki.jit
    def kernel(x: Any) -> Any:
        out = nl.ndarray((2, 4), dtype=x.dtype, buffer=nl.shared_hbm)
        blocks = nl.zeros((3, nl.par_dim(2), 4), dtype=x.dtype)
        for i in nl.affine_range(4):
            blocks[i, 0:2, 0:4] = nl.load(x, mask=i < 3)
        nl.store(out, nl.add(blocks[0], blocks[2]))
        return out

    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    np.testing.assert_array_equal(kernel(x), 2 * x)


def test_a_block_index_out_of_bounds_is_an_error_where_something_executes() -> None:
    @nki.jit
    def kernel(x: Any) -> Any:
        blocks = nl.zeros((3, nl.par_dim(2), 4), dtype=x.dtype)
        blocks[3, 0:2, 0:4] = nl.load(x)

    with pytest.raises(KernelError, match=r"tensor `blocks` on dimension 0: index range \[3, 3\] exceed .* size of 3"):
        kernel(np.zeros((2, 4), np.float32))


def returned_after_all(out: Any, tile: Any, n: int) -> Any:
    """A helper, not a kernel: ``blockwise_mm_bwd.py:1838``."""
    for i in nl.affine_range(n):
        nl.store(out[2 * i : 2 * i + 2], tile)
        return out


def test_a_return_that_ends_a_loop_of_a_helper_is_after_all_iterations() -> None:
    @nki.jit
    def kernel(x: Any) -> Any:
        out = nl.ndarray((6, 4), dtype=x.dtype, buffer=nl.shared_hbm)
        return returned_after_all(out, nl.load(x), 3)

    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    for _ in range(2):
        np.testing.assert_array_equal(kernel(x), np.tile(x, (3, 1)))


class Held:
    """A decorator that is a class."""

    def __init__(self, func: Any) -> None:
        self.func = func

    def __call__(self, *args: Any) -> Any:
        return self.func(*args)


class HeldInASlot(Held):
    __slots__ = ("func",)


def test_what_a_decorator_that_is_a_class_holds_is_searched() -> None:
    def upper(out: Any, tile: Any) -> Any:
        for i in nl.affine_range(3):
            nl.store(out[2 * i : 2 * i + 2], tile)
            return out

    def lower(out: Any, tile: Any) -> Any:
        for i in nl.affine_range(3):
            nl.store(out[2 * i + 6 : 2 * i + 8], tile)
            return out

    held = Held(lambda out, tile: upper(out, tile))
    in_a_slot = HeldInASlot(lambda out, tile: lower(out, tile))

    @nki.jit
    def kernel(x: Any) -> Any:
        out = nl.ndarray((12, 4), dtype=x.dtype, buffer=nl.shared_hbm)
        return in_a_slot(held(out, nl.load(x)), nl.load(x))

    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    np.testing.assert_array_equal(kernel(x), np.tile(x, (6, 1)))


def test_an_object_that_answers_anything_or_nothing_is_not_asked_for_functions() -> None:
    class Curious:
        def __getattr__(self, name: str) -> Any:
            raise ValueError(name)

    class Empty:
        __slots__ = ("func",)

    curious, empty = Curious(), Empty()

    @nki.jit
    def kernel(x: Any) -> Any:
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        if not isinstance(curious, Empty) and curious is not empty:
            nl.store(out, nl.load(x))
        return out

    x = np.ones((2, 4), np.float32)
    np.testing.assert_array_equal(kernel(x), x)


def test_the_contraction_is_cut_where_the_mask_of_one_operand_cuts_it() -> None:
    """``blockwise_mm.py:750``: rows of the other operand that no one has written are not multiplied by zero."""

    @nki.jit
    def kernel(x: Any, y: Any) -> Any:
        out = nl.ndarray((3, 5), dtype=nl.float32, buffer=nl.shared_hbm)
        left = nl.ndarray((8, 3), dtype=nl.float32, buffer=nl.sbuf)
        left[0:6] = nl.load(x)
        right = nl.ndarray((8, 5), dtype=nl.float32, buffer=nl.sbuf)
        right[0:6] = nl.load(y)
        k, n = nl.arange(8)[:, None], nl.arange(5)[None, :]
        nl.store(out, nl.copy(nisa.nc_matmul(left, right[k, n][k < 6])))
        return out

    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((6, 3), np.float32), rng.standard_normal((6, 5), np.float32)
    np.testing.assert_allclose(kernel(x, y), x.T @ y, rtol=1e-5)


def test_the_mask_of_an_operand_cuts_the_product() -> None:
    """ "Generate the instruction with a smaller input tile shape": what the destination held elsewhere stays."""

    @nki.jit
    def kernel(x: Any, y: Any, count: int) -> Any:
        out = nl.ndarray((4, 5), dtype=nl.float32, buffer=nl.shared_hbm)
        left, right = nl.load(x), nl.load(y)
        product = nl.full((4, 5), 7.0, dtype=nl.float32, buffer=nl.psum)
        k, m, n = nl.arange(6)[:, None], nl.arange(4)[None, :], nl.arange(5)[None, :]
        product[0:4, 0:5] = nisa.nc_matmul(left[k, m][m < count], right[k, n][n < 3][k < 4])
        nl.store(out, nl.copy(product))
        return out

    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((6, 4), np.float32), rng.standard_normal((6, 5), np.float32)
    for count in (4, 2, 0):
        expected = np.full((4, 5), 7.0, np.float32)
        expected[:count, :3] = x[:4, :count].T @ y[:4, :3]
        np.testing.assert_allclose(kernel(x, y, count), expected, rtol=1e-5)


def test_a_mask_of_a_matmul_keeps_its_operands_in_bounds() -> None:
    """``blockwise_mm_bwd.py:1243``: the mask is over the rows of the result, which index the stationary operand."""

    @nki.jit
    def kernel(x: Any, y: Any) -> Any:
        out = nl.ndarray((6, 5), dtype=nl.float32, buffer=nl.shared_hbm)
        left, right = nl.load(x), nl.load(y)
        product = nl.zeros((8, 5), dtype=nl.float32, buffer=nl.psum)
        k, m = nl.arange(4)[:, None], nl.arange(8)[None, :]
        product[0:8, 0:5] += nisa.nc_matmul(left[k, m], right, mask=-1 * nl.arange(8)[:, None] + 5 >= 0)
        nl.store(out, nl.copy(product[0:6, 0:5]))
        return out

    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((4, 6), np.float32), rng.standard_normal((4, 5), np.float32)
    np.testing.assert_allclose(kernel(x, y), x.T @ y, rtol=1e-5)


@pytest.mark.parametrize("axes", ["number", "program_id"])
def test_all_reduce_between_programs(axes: str) -> None:
    @nki.jit
    def kernel(x: Any) -> Any:
        out = nl.ndarray((3, 2, 2, 4), dtype=x.dtype, buffer=nl.shared_hbm)
        i, j = nl.program_id(0), nl.program_id(1)
        mine = nl.load(x[i, j])
        total = nl.all_reduce(mine, op=np.add, program_axes=[0 if axes == "number" else i])
        nl.store(out[i, j], total)
        return out

    x = np.random.default_rng(0).standard_normal((3, 2, 2, 4), np.float32)
    np.testing.assert_allclose(kernel[3, 2](x), np.broadcast_to(x.astype(np.float64).sum(0), x.shape), rtol=1e-6)


def test_a_program_that_never_comes_is_an_error() -> None:
    @nki.jit
    def kernel(x: Any) -> Any:
        out = nl.ndarray((2, 2, 4), dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.load(x)
        if nl.program_id(0) == 0:
            tile = nl.all_reduce(tile, op=np.add, program_axes=[0])
        nl.store(out[nl.program_id(0)], tile)
        return out

    with pytest.raises(KernelError, match=r"program \(0,\) waits in nl.all_reduce for program \(1,\) forever"):
        kernel[2](np.zeros((2, 4), np.float32))


def test_all_reduce_over_an_axis_that_the_grid_does_not_have_is_an_error() -> None:
    @nki.jit
    def kernel(x: Any) -> Any:
        return nl.all_reduce(nl.load(x), op=np.add, program_axes=[1])

    with pytest.raises(KernelError, match="the launch grid has 1 dimensions"):
        kernel[2](np.zeros((2, 4), np.float32))


def test_dimensions_are_added_at_several_places() -> None:
    """``helper_kernels.py:43``."""

    @nki.jit
    def kernel(x: Any) -> Any:
        out = nl.ndarray((2, 4, 1, 1), dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.load(x)
        assert tile.expand_dims((1, 3)).shape == (2, 1, 4, 1) and tile.expand_dims(-1).shape == (2, 4, 1)
        nl.store(out, tile.expand_dims(tuple(range(2, 4))))
        return out

    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    np.testing.assert_array_equal(kernel(x), x.reshape(2, 4, 1, 1))


def test_a_store_to_a_grid_column_writes_each_element_once() -> None:
    @nki.jit
    def kernel(x: Any) -> Any:
        out = nl.ndarray((4, 1), dtype=x.dtype, buffer=nl.shared_hbm)
        grid = nl.mgrid[0:4, 0:6]
        nl.store(out[grid.p, nl.arange(1)[None, :]], nl.sum(nl.load(x[grid.p, grid.x]), axis=1))
        return out

    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    np.testing.assert_array_equal(kernel(x), x.sum(1, keepdims=True))
    stored = launch(kernel, {"x": x}, record=True).machines[0].events[-1]
    assert stored.operands[0].steps == ((0, 1, 4),)


def test_tiles_that_nobody_uses_give_their_memory_back() -> None:
    """A long program does not keep every intermediate result: ``interpolate_bilinear_fwd.py`` ran out of memory."""
    import gc
    import weakref

    alive: list[Any] = []

    def note(tile: Any) -> None:
        alive.append(weakref.ref(tile.alloc.memory))

    @nki.jit
    def kernel(x: Any) -> Any:
        out = nl.ndarray((2, 4), dtype=x.dtype, buffer=nl.shared_hbm)
        for _ in nl.affine_range(8):
            tile = nl.load(x)
            note(tile)
        nl.store(out, nl.load(x))
        return out

    machine = launch(kernel, {"x": np.zeros((2, 4), np.float32)}, record=True).machines[0]
    gc.collect()
    assert len([a for a in machine.allocations if a.name == "tile"]) == 8
    assert sum(memory() is not None for memory in alive) == 0


@pytest.mark.parametrize("start", ["zeros", "ndarray"])
@pytest.mark.parametrize("spelling", ["subscript", "name"])
def test_loop_reduce(start: str, spelling: str) -> None:
    """The name is that of the documents, the tile without a value ``blockwise_mm_bwd.py:400``."""

    @nki.jit
    def kernel(x: Any) -> Any:
        out = nl.ndarray((2, 4), dtype=x.dtype, buffer=nl.shared_hbm)
        total = nl.zeros((2, 4), dtype=nl.float32) if start == "zeros" else nl.ndarray((2, 4), dtype=nl.float32)
        for i in nl.affine_range(3):
            part = nl.load(x[i])
            if spelling == "subscript":
                total[...] = nl.loop_reduce(part, op=np.add, loop_indices=[i])
            else:
                total = nl.loop_reduce(part, op=np.add, loop_indices=[i])
        nl.store(out, total)
        return out

    x = np.arange(24, dtype=np.float32).reshape(3, 2, 4)
    np.testing.assert_array_equal(kernel(x), x.sum(0))


def test_a_loop_reduce_without_a_destination_is_an_error() -> None:
    @nki.jit
    def kernel(x: Any) -> Any:
        return nl.exp(nl.loop_reduce(nl.load(x), op=np.add, loop_indices=[0]))

    with pytest.raises(KernelError, match="must be assigned to a tensor that is declared before the loop"):
        kernel(np.zeros((2, 4), np.float32))


COUNT = 0


class Allocator:
    """What ``attention_kernels.py`` keeps its addresses in, here with a list and a dict beside the counter."""

    def __init__(self) -> None:
        self.offset = 0
        self.sizes: list[int] = []
        self.named: dict[str, list[int]] = {"all": []}

    def allocate(self, size: int) -> int:
        at = self.offset
        self.offset += size
        self.sizes.append(size)
        self.named["all"].append(at)
        return at


SHARED = Allocator()


@pytest.mark.parametrize("loop", ["affine_range", "sequential_range", "range"])
def test_objects_that_a_loop_body_changes_change_once(loop: str) -> None:
    """The body is traced once, whatever the trip count (``val += 1`` of the migration guide, in objects)."""
    found: list[Any] = []

    @nki.jit
    def kernel(x: Any) -> Any:
        global COUNT
        out = nl.ndarray((3, 2, 4), dtype=x.dtype, buffer=nl.shared_hbm)
        own, seen, numbers, chosen = Allocator(), [], {}, set()
        counts, before = np.zeros(2, np.int64), COUNT
        addresses: list[tuple[int, int]] = []
        iterations = {"affine_range": nl.affine_range, "sequential_range": nl.sequential_range}.get(loop, range)
        if loop == "range":
            for i in range(3):
                addresses.append((own.allocate(8), SHARED.allocate(4)))
                nl.store(out[i], nl.load(x[i]))
        else:
            for i in iterations(3):
                addresses.append((own.allocate(8), SHARED.allocate(4)))
                seen.append(i)
                numbers[i] = i
                chosen.add(i)
                counts[0] += 1
                COUNT += 1
                nl.store(out[i], nl.load(x[i]))
            assert (seen, numbers, chosen, counts.tolist(), COUNT - before) == ([2], {2: 2}, {2}, [1, 0], 1)
        found.append((own.offset, own.sizes, own.named, addresses))
        return out

    SHARED.__init__()  # type: ignore[misc]
    x = np.arange(24, dtype=np.float32).reshape(3, 2, 4)
    np.testing.assert_array_equal(kernel(x), x)
    assert found == [(8, [8], {"all": [0]}, [(0, 0)])]
    assert (SHARED.offset, SHARED.sizes) == (4, [4])


def test_a_static_range_changes_objects_in_every_iteration() -> None:
    @nki.jit
    def kernel(x: Any) -> Any:
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        seen: list[int] = []
        for i in nl.static_range(3):
            seen.append(i)
        assert seen == [0, 1, 2]
        nl.store(out, nl.load(x))
        return out

    kernel(np.zeros((2, 4), np.float32))


def test_a_tile_has_memory_of_its_own() -> None:
    """Whatever an instruction's result shares memory with, its tile does not change when that is written to."""

    @nki.jit
    def kernel(x: Any) -> Any:
        out = nl.ndarray((5, 4, 4), dtype=nl.float32, buffer=nl.shared_hbm)
        scratch = nl.ndarray((4, 4), dtype=nl.float32, buffer=nl.hbm)
        nl.store(scratch, nl.load(x))
        a = nl.load(scratch)
        b = nl.copy(a)
        c = nisa.activation(nl.copy, a)
        d = nl.transpose(a)
        tiles = (a[...], b, c, d, nl.add(a, 0.0))
        nl.store(scratch, 0.0)
        for position, tile in enumerate(tiles):
            nl.store(out[position], tile)
            tile[...] = -1.0
        return out

    x = np.arange(16, dtype=np.float32).reshape(4, 4)
    np.testing.assert_array_equal(kernel(x), np.stack([x, x, x, x.T, x]))


def test_a_result_that_waits_keeps_its_values() -> None:
    """The operand is written before the result has a destination."""

    @nki.jit
    def kernel(x: Any) -> Any:
        out = nl.ndarray((4, 4), dtype=nl.float32, buffer=nl.shared_hbm)
        a, b = nl.load(x), nl.ndarray((4, 4), dtype=nl.float32)

        def overwritten(waiting: Any) -> Any:
            a[...] = 0.0
            return waiting

        b[...] = overwritten(nl.copy(a))
        nl.store(out, b)
        return out

    x = np.ones((4, 4), np.float32)
    np.testing.assert_array_equal(kernel(x), x)


@pytest.mark.parametrize("how", ["assigned", "computed", "number"])
def test_a_result_that_waits_for_a_subscript_keeps_its_values(how: str) -> None:
    """Python evaluates the subscript of a destination after the value, which lies in the memory of its operand."""

    @nki.jit
    def kernel(x: Any) -> Any:
        out = nl.ndarray((4, 4), dtype=nl.float32, buffer=nl.shared_hbm)
        a, b, c = nl.load(x), nl.ndarray((4, 8), dtype=nl.float32), nl.load(x)

        def columns() -> Any:
            if how == "assigned":
                a[...] = nl.multiply(c, 3.0)
            elif how == "computed":
                nisa.tensor_copy_predicated(src=nl.multiply(c, 3.0), dst=a, predicate=c)
            else:
                a[...] = 3.0
            return slice(4, 8)

        b[:, columns()] = nl.copy(a)
        b[:, 0:4] = nl.copy(a)
        nl.store(out, nl.add(b[:, 0:4], b[:, 4:8]))
        return out

    x = np.ones((4, 4), np.float32)
    np.testing.assert_array_equal(kernel(x), np.full((4, 4), 4.0, np.float32))


def test_an_operator_that_ends_in_a_call_writes_its_destination() -> None:
    """What ``+`` gives is rounded once, to the destination's type, whether or not its last operand is a call."""

    @nki.jit
    def kernel(a: Any, b: Any) -> Any:
        out = nl.ndarray((2, 4, 4), dtype=nl.float32, buffer=nl.shared_hbm)
        wide = nl.ndarray((4, 4), dtype=nl.float32)
        x, y = nl.load(a), nl.load(b)
        other = nl.copy(y)
        wide[...] = x + nl.copy(y)
        nl.store(out[0], wide)
        wide[...] = x + other
        nl.store(out[1], wide)
        return out

    a, b = np.full((4, 4), 256, nl.bfloat16), np.ones((4, 4), nl.bfloat16)
    np.testing.assert_array_equal(kernel(a, b), np.full((2, 4, 4), 257, np.float32))


def test_the_memory_of_a_tile_is_not_that_of_an_argument() -> None:
    """Neither the caller's array nor the emulator's copy of it is written to by a tile that was loaded from it."""

    @nki.jit
    def kernel(x: Any) -> Any:
        out = nl.ndarray((2, 4, 4), dtype=nl.float32, buffer=nl.shared_hbm)
        a = nl.load(x)
        a[...] = 5.0
        nl.store(out[0], a)
        again = nl.load(x)
        nl.store(out[1], again)
        return out

    x = np.ones((4, 4), np.float32)
    np.testing.assert_array_equal(kernel(x), np.stack([np.full((4, 4), 5.0, np.float32), x]))


def test_a_column_that_fills_a_tile_is_read_again_and_again() -> None:
    @nki.jit
    def kernel(x: Any) -> Any:
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.ndarray((4, 6), dtype=x.dtype, buffer=nl.sbuf)
        tile[...] = nl.load(x[:, 2])
        nl.store(out, tile)
        return out

    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    run = launch(kernel, {"x": x}, record=True)
    np.testing.assert_array_equal(run.outputs[0], np.repeat(x[:, 2:3], 6, axis=1))
    source = run.machines[0].events[0].operands[1]
    assert (source.byte, source.steps) == (2, ((0, 6, 4), (0, 0, 6)))


@pytest.mark.parametrize("axis", [1, 2])
def test_an_operand_under_a_mask_of_several_dimensions_is_recorded_where_it_lies(axis: int) -> None:
    @nki.jit
    def kernel(x: Any, axis: int) -> Any:
        out = nl.ndarray((4, x.shape[3 - axis]), dtype=x.dtype, buffer=nl.shared_hbm)
        i_p, i_f = nl.arange(4)[:, None, None], nl.arange(3)[None, :, None]
        tile = nl.load(x)
        total = nisa.tensor_reduce(np.add, tile, axis=(axis,), mask=i_p + i_f < 5)
        nl.store(out, nl.copy(total))
        return out

    events = launch(kernel, {"x": np.ones((4, 3, 2), np.float32), "axis": axis}, record=True).machines[0].events
    operand = next(event for event in events if event.op == "tensor_reduce").operands[1]
    assert (operand.partition, operand.byte, operand.exact) == (0, 0, False)
    assert operand.steps == ((1, 0, 4), (0, 4, 6))


def test_a_message_shows_an_array_by_its_type_and_shape() -> None:
    assert shown(np.zeros((128, 4), np.int32)) == "an array of numpy, int32 [128, 4]"
    assert shown(np.float32(2)) == repr(np.float32(2)) and shown("text") == "'text'"
    assert len(shown(list(range(1000)))) == 120 and "\n" not in shown("a\n" * 3)
