"""The examples of the vendor's migration guide from Beta 1 to Beta 2, in our own words, on the Beta 2 front end."""

from __future__ import annotations

import numpy as np
import pytest
from nki_migrate.runtime.beta2.launch import execute
from nki_migrate.runtime.beta2.modules import MODULES
from nki_migrate.runtime.errors import KernelError

nki, nl, nisa = MODULES["nki"], MODULES["nki.language"], MODULES["nki.isa"]


def numbers(*shape: int) -> np.ndarray:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


# --- block dimensions: a list, a folded free dimension, a tensor in the loop ---


def through_a_list(inp):
    res = nl.ndarray((8, 128, 64), dtype=inp.dtype, buffer=nl.shared_hbm)
    blocks = []
    for i in range(8):
        blocks.append(nl.ndarray((128, 64), dtype=inp.dtype, buffer=nl.sbuf, address=(0, i * 64 * 4)))
    for i in range(8):
        nisa.dma_copy(dst=blocks[i], src=inp[i])
    for i in range(8):
        nisa.dma_copy(dst=res[i], src=blocks[i])
    return res


def through_one_folded_tensor(inp):
    res = nl.ndarray((8, 128, 64), dtype=inp.dtype, buffer=nl.shared_hbm)
    blocks = nl.ndarray((128, 8, 64), dtype=inp.dtype, buffer=nl.sbuf)
    for i in range(8):
        nisa.dma_copy(dst=blocks[0:128, i, 0:64], src=inp[i])
    for i in range(8):
        nisa.dma_copy(dst=res[i], src=blocks[0:128, i, 0:64])
    return res


def through_a_tensor_in_the_loop(inp):
    res = nl.ndarray((8, 128, 64), dtype=inp.dtype, buffer=nl.shared_hbm)
    for i in range(8):
        block = nl.ndarray((128, 64), dtype=inp.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=block[0:128, 0:64], src=inp[i])
        nisa.dma_copy(dst=res[i], src=block[0:128, 0:64])
    return res


def through_a_tensor_before_the_loop(inp):
    res = nl.ndarray((8, 128, 64), dtype=inp.dtype, buffer=nl.shared_hbm)
    block = nl.ndarray((128, 64), dtype=inp.dtype, buffer=nl.sbuf)
    for i in range(8):
        nisa.dma_copy(dst=block[0:128, 0:64], src=inp[i])
        nisa.dma_copy(dst=res[i], src=block[0:128, 0:64])
    return res


@pytest.mark.parametrize(
    "kernel",
    [through_a_list, through_one_folded_tensor, through_a_tensor_in_the_loop, through_a_tensor_before_the_loop],
)
def test_every_spelling_of_a_block_dimension_copies_all_blocks(kernel):
    inp = numbers(8, 128, 64)
    assert np.array_equal(execute(kernel, {"inp": inp}).outputs[0], inp)


def test_list_elements_are_named_after_the_list_and_their_position():
    machine = execute(through_a_list, {"inp": numbers(8, 128, 64)}).machines[0]
    rows = [(a.name, a.block, a.byte) for a in machine.allocations if a.space == "sbuf"]
    assert rows == [("blocks", (i,), i * 256) for i in range(8)]


def test_a_tensor_in_the_loop_is_a_new_tile_each_time_and_one_before_it_is_not():
    inp = numbers(8, 128, 64)
    inside = execute(through_a_tensor_in_the_loop, {"inp": inp}).machines[0].allocations
    before = execute(through_a_tensor_before_the_loop, {"inp": inp}).machines[0].allocations
    assert [sum(a.space == "sbuf" for a in allocations) for allocations in (inside, before)] == [8, 1]


# --- addresses ---


def test_psum_bank_is_the_address_divided_by_2048():
    def kernel(inp):
        tile = nl.ndarray((128, 1024), dtype=nl.bfloat16, buffer=nl.psum, address=(0, 3 * 2048))
        assert tile.address == (0, 6144)
        assert tile.address.size == (128, 2048)

    execute(kernel, {"inp": numbers(1, 1)}, version="0.2")


def test_modulo_addresses_share_memory():
    def kernel(inp):
        base, count, free = 1024, 4, 2
        tiles = []
        for i in range(count):
            tiles.append(nl.ndarray((128, 16), nl.float32, nl.sbuf, address=(0, base + (i % free) * 16 * 4)))
        for i in range(count):
            nisa.memset(dst=tiles[i], value=float(i))
        res = nl.ndarray((4, 128, 16), nl.float32, nl.shared_hbm)
        for i in range(count):
            nisa.dma_copy(dst=res[i], src=tiles[i])
        return res

    result = execute(kernel, {"inp": numbers(1, 1)}).outputs[0]
    assert [float(result[i, 0, 0]) for i in range(4)] == [2.0, 3.0, 2.0, 3.0]


# --- clamped slices instead of masks ---


def test_clamped_slices_cover_a_tensor_that_is_no_multiple_of_the_tile():
    def kernel(t):
        result = nl.ndarray(t.shape, dtype=t.dtype, buffer=nl.shared_hbm)
        for i in range(2):
            p = slice(i * 128, min(129, i * 128 + 128))
            for j in range(2):
                f = slice(j * 512, min(513, j * 512 + 512))
                tile = nl.ndarray((128, 512), t.dtype, nl.sbuf)
                rows, columns = p.stop - p.start, f.stop - f.start
                nisa.dma_copy(dst=tile[0:rows, 0:columns], src=t[p, f])
                nisa.dma_copy(dst=result[p, f], src=tile[0:rows, 0:columns])
        return result

    t = numbers(129, 513)
    assert np.array_equal(execute(kernel, {"t": t}).outputs[0], t)


def test_slices_are_never_clipped():
    def kernel(t):
        return t[0:200, 0:4]

    with pytest.raises(KernelError, match="index out of range of tensor dimension"):
        execute(kernel, {"t": numbers(128, 4)})


# --- loops ---


def test_python_state_advances_once_an_iteration():
    def kernel(t, seen):
        val = 0
        for i in nl.affine_range(8):
            val += 1
            if i == 0:
                seen.append("first")
        seen.append(val)

    seen: list[object] = []
    execute(lambda t: kernel(t, seen), {"t": numbers(1, 1)})
    assert seen == ["first", 8]


def test_dynamic_loop_runs_to_a_bound_in_a_register():
    def kernel(bound):
        res = nl.ndarray((1, 1), nl.float32, nl.shared_hbm)
        on_chip = nl.ndarray((1, 1), nl.int32, nl.sbuf)
        nisa.dma_copy(dst=on_chip, src=bound)
        total = nl.ndarray((1, 1), nl.float32, nl.sbuf)
        nisa.memset(dst=total, value=0.0)
        upper = nisa.register_alloc()
        nisa.register_load(upper, on_chip)
        for _ in nl.dynamic_range(5, upper, 2):
            nisa.tensor_scalar(dst=total, data=total, op0=nl.add, operand0=1.0)
        nisa.dma_copy(dst=res, src=total)
        return res

    for bound in (4, 5, 6, 12):
        expected = len(range(5, bound, 2))
        assert execute(kernel, {"bound": np.array([[bound]], np.int32)}).outputs[0][0, 0] == expected


def test_while_loop_ends_when_its_register_is_zero():
    def kernel(t):
        res = nl.ndarray((1, 1), nl.int32, nl.shared_hbm)
        cond = nl.ndarray((1, 1), nl.int32, nl.sbuf)
        rounds = nl.ndarray((1, 1), nl.int32, nl.sbuf)
        nisa.memset(dst=rounds, value=0)
        reg = nisa.register_alloc(5)
        while reg:
            nisa.tensor_scalar(rounds, rounds, nl.add, 1)
            nisa.register_store(cond, reg)
            nisa.tensor_scalar(cond, cond, nl.add, -1)
            nisa.register_load(reg, cond)
        nisa.dma_copy(dst=res, src=rounds)
        return res

    assert execute(kernel, {"t": numbers(1, 1)}).outputs[0][0, 0] == 5


# --- dynamic access ---


def test_scalar_dynamic_access_starts_at_the_index_times_the_rows_of_the_base_tensor():
    def kernel(a, start):
        index = nl.ndarray((1, 1), nl.int32, buffer=nl.sbuf)
        nisa.memset(index, value=start)
        result = nl.ndarray((128, 256), a.dtype, buffer=nl.shared_hbm)
        view = a.ap(pattern=[[512, 128], [1, 256]], offset=0, scalar_offset=index, indirect_dim=0)
        nisa.dma_copy(src=view, dst=result)
        return result

    a = numbers(512, 512)
    assert np.array_equal(execute(kernel, {"a": a, "start": 3 * 128}).outputs[0], a[384:512, 0:256])


def test_scalar_dynamic_access_is_read_when_the_instruction_runs():
    def kernel(a):
        index = nl.ndarray((1, 1), nl.int32, buffer=nl.sbuf)
        result = nl.ndarray((2, 1, 4), a.dtype, buffer=nl.shared_hbm)
        view = a.ap(pattern=[[4, 1], [1, 4]], scalar_offset=index)
        for i in range(2):
            nisa.memset(index, value=i + 1)
            nisa.dma_copy(dst=result[i], src=view)
        return result

    a = numbers(4, 4)
    assert np.array_equal(execute(kernel, {"a": a}).outputs[0][:, 0], a[1:3])


def test_vector_dynamic_access_gathers_every_other_row():
    def kernel(a):
        rows = nl.ndarray((64, 1), nl.int32, nl.sbuf)
        nisa.iota(rows, [[1, 1]], 0, 2)
        gathered = nl.ndarray((64, 512), nl.float32, buffer=nl.sbuf)
        result = nl.ndarray((64, 512), nl.float32, buffer=nl.shared_hbm)
        view = a.ap([[512, 64], [1, 512]], 0, vector_offset=rows, indirect_dim=0)
        nisa.dma_copy(src=view, dst=gathered, name="inst0")
        nisa.dma_copy(result, gathered, name="copy1")
        return result

    a = numbers(128, 512)
    assert np.array_equal(execute(kernel, {"a": a}).outputs[0], a[::2])


def scatter(values, rows, skip):
    result = nl.ndarray((8, 4), nl.float32, buffer=nl.shared_hbm)
    zero = nl.ndarray((8, 4), nl.float32, nl.sbuf)
    nisa.memset(zero, 0.0)
    nisa.dma_copy(dst=result, src=zero)
    index, data = nl.ndarray((3, 1), nl.int32, nl.sbuf), nl.ndarray((3, 4), nl.float32, nl.sbuf)
    nisa.dma_copy(dst=index, src=rows)
    nisa.dma_copy(dst=data, src=values)
    mode = nisa.oob_mode.skip if skip else nisa.oob_mode.error
    nisa.dma_copy(dst=result.ap([[4, 3], [1, 4]], vector_offset=index), src=data, oob_mode=mode)
    return result


def test_scatter_writes_the_rows_that_the_indices_name():
    values, rows = numbers(3, 4) + 1, np.array([[6], [0], [3]], np.int32)
    result = execute(scatter, {"values": values, "rows": rows, "skip": False}).outputs[0]
    expected = np.zeros((8, 4), np.float32)
    expected[[6, 0, 3]] = values
    assert np.array_equal(result, expected)


def test_index_out_of_bounds_is_an_error_or_skipped():
    values, rows = numbers(3, 4) + 1, np.array([[6], [8], [3]], np.int32)
    with pytest.raises(KernelError, match=r"index 8 of row 1 leaves a tensor of shape \(8, 4\)"):
        execute(scatter, {"values": values, "rows": rows, "skip": False})
    result = execute(scatter, {"values": values, "rows": rows, "skip": True}).outputs[0]
    assert np.array_equal(result[[6, 3]], values[[0, 2]])
    assert not result[[0, 1, 2, 4, 5, 7]].any()


# --- kernels in kernels ---


def double(tile):
    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=2.0)


jitted_double = nki.jit(double)


def doubling(a):
    tile = nl.ndarray(a.shape, a.dtype, nl.sbuf)
    nisa.dma_copy(dst=tile, src=a)
    jitted_double(tile)
    result = nl.ndarray(a.shape, a.dtype, nl.shared_hbm)
    nisa.dma_copy(dst=result, src=tile)
    return result


def test_jit_is_applied_on_the_fly_and_inlined_when_a_kernel_calls_it(monkeypatch):
    monkeypatch.setenv("NKI_MIGRATE_TARGET", "0.2")  # the last with platform_target
    a = numbers(4, 4)
    assert np.array_equal(nki.jit(doubling)(a), 2 * a)
    assert np.array_equal(nki.jit(mode="auto", platform_target="trn2")(doubling)(a), 2 * a)


def test_edges_for_the_scheduler_change_no_number():
    a = numbers(4, 4)
    kernel = nki.jit(doubling)
    assert np.array_equal(kernel.with_schedule([("store", "load"), ("twice", ["load"])])(a), 2 * a)
    with pytest.raises(KernelError, match="an edge of with_schedule is a pair of names"):
        kernel.with_schedule(["store"])
