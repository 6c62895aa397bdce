"""Hazards, in both front ends: small kernels of ours that have one, and near relatives that do not.

The four erroneous examples of the direct allocation guide of Beta 1 are here under "The guide": two are errors of the
kernel, two are hazards.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from nki_migrate.runtime.beta1.launch import launch as launch1
from nki_migrate.runtime.beta1.modules import MODULES as OLD
from nki_migrate.runtime.beta2.launch import launch as launch2
from nki_migrate.runtime.beta2.modules import MODULES as NEW
from nki_migrate.runtime.compare import Run, trace_of
from nki_migrate.runtime.errors import KernelError
from nki_migrate.runtime.hazards import KINDS, Hazard, find
from nki_migrate.runtime.spec.hardware import TARGETS

nki, nl, nisa = OLD["neuronxcc.nki"], OLD["neuronxcc.nki.language"], OLD["neuronxcc.nki.isa"]
ncc, par_dim = OLD["neuronxcc.nki.compiler"], nl.par_dim
nki2, nl2, nisa2 = NEW["nki"], NEW["nki.language"], NEW["nki.isa"]

GEN3 = TARGETS["gen3"]


def numbers(*shape: int) -> np.ndarray:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape) % 7


def hazards(kernel: Callable[..., Any], *args: Any, beta2: bool = False, **options: Any) -> list[Hazard]:
    names = dict(zip(inspect.signature(kernel).parameters, args, strict=False))
    made = (nki2 if beta2 else nki).jit(kernel)
    result = (launch2 if beta2 else launch1)(made, names, record=True, **options)
    return list(find(Run((), tuple(trace_of(machine) for machine in result.machines)), GEN3))


def one(found: list[Hazard], kind: str) -> Hazard:
    assert [hazard.kind for hazard in found] == [kind], found
    assert kind in KINDS and found[0].help
    return found[0]


def source_line(hazard: Hazard, which: str) -> str:
    """The text of one of the two lines that a hazard names: both must be lines of the kernel."""
    place = getattr(hazard, which)
    assert place.file == __file__ and place.what
    with open(__file__) as stream:
        return stream.read().splitlines()[place.line - 1].strip()


def out_like(x: Any) -> Any:
    return nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)


def sbuf(x: Any, base: int, tiles: int = 1) -> Any:
    n, rows, columns = x.shape
    buffer = ncc.sbuf.mod_alloc(base_addr=base, num_free_tiles=(tiles,))
    return nl.ndarray((n, par_dim(rows), columns), dtype=x.dtype, buffer=buffer)


# --- The guide -------------------------------------------------------------------------------------------------------


def test_guide_1_automatic_tiles_in_an_allocated_kernel_are_an_error() -> None:
    def mixed(x):
        out, pinned = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm), sbuf(x, 0)
        for i in nl.affine_range(x.shape[0]):
            loaded = nl.load(x[i])
            pinned[i] = nisa.tensor_copy(loaded)
            nl.store(out[i], value=pinned[i])
        return out

    with pytest.raises(KernelError, match="Mixing direct allocation with automatic allocation: 'loaded'"):
        hazards(mixed, numbers(2, 64, 16))


def test_guide_2_instructions_with_implicit_tensors_are_an_error() -> None:
    def implicit(x):
        out, pinned = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm), sbuf(x, 0)
        for i in nl.affine_range(x.shape[0]):
            pinned[i] = nl.load(x[i])
            pinned[i] = nl.softmax(pinned[i], axis=1)
            nl.store(out[i], value=pinned[i])
        return out

    with pytest.raises(KernelError):
        hazards(implicit, numbers(2, 64, 16))


def test_guide_3_overlapping_tensors_that_are_alive_together() -> None:
    def overlapping(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        left, right = sbuf(x, 0, 2), sbuf(x, 64, 2)
        for i in nl.affine_range(x.shape[0]):
            left[i] = nl.load(x[i])
        for i in nl.affine_range(x.shape[0]):
            right[i] = nl.load(x[i])
            right[i] = nl.add(left[i], right[i])
            nl.store(out[i], value=right[i])
        return out

    hazard = one(hazards(overlapping, numbers(2, 64, 16)), "overwritten")
    assert hazard.tensors == ("left[1]", "right[0]")
    assert source_line(hazard, "first") == "right[i] = nl.add(left[i], right[i])"
    assert source_line(hazard, "second") == "right[i] = nl.add(left[i], right[i])"
    assert "sbuf partitions 0-63, bytes 64-127" in hazard.message


def test_guide_4_more_logical_tiles_than_physical_ones() -> None:
    def crowded(x):
        out, tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm), sbuf(x, 0, 2)
        for i in nl.affine_range(x.shape[0]):
            tile[i] = nl.load(x[i])
        for i in nl.affine_range(x.shape[0]):
            nl.store(out[i], value=tile[i])
        return out

    hazard = one(hazards(crowded, numbers(8, 64, 16)), "overwritten")
    assert hazard.tensors == ("tile[0]", "tile[6]") and hazard.count == 6
    assert source_line(hazard, "first") == "tile[i] = nl.load(x[i])"
    assert source_line(hazard, "second") == "nl.store(out[i], value=tile[i])"


def test_the_guides_corrected_version_and_double_buffering_have_none() -> None:
    def buffered(x):
        out, tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm), sbuf(x, 0, 2)
        for i in nl.affine_range(x.shape[0]):
            tile[i] = nl.load(x[i])
            tile[i] = nl.add(tile[i], 1.0)
            nl.store(out[i], value=tile[i])
        return out

    assert hazards(buffered, numbers(8, 64, 16)) == []


# --- bytes never written ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("buffer", [nl.sbuf, nl.psum], ids=["sbuf", "psum"])
def test_an_output_that_comes_from_bytes_never_written(buffer: Any) -> None:
    def half(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=buffer)
        tile[:, 0:8] = nisa.tensor_copy(nl.load(x[:, 0:8]))
        squared = nl.multiply(tile, tile)
        nl.store(out, value=squared)
        return out

    hazard = one(hazards(half, numbers(64, 16)), "unwritten")
    assert hazard.tensors == ("tile", "out") and "512 elements" in hazard.message
    assert source_line(hazard, "first") == "squared = nl.multiply(tile, tile)"
    assert source_line(hazard, "second") == "nl.store(out, value=squared)"


def test_a_tile_that_is_filled_backwards_is_filled() -> None:
    def mirrored(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
        ip, jf = nl.mgrid[0 : x.shape[0], 0 : x.shape[1]]
        tile[ip, x.shape[1] - 1 - jf] = nl.load(x)
        nl.store(out, tile)
        return out

    assert hazards(mirrored, numbers(64, 16)) == []


def test_garbage_that_no_output_gets_is_no_hazard() -> None:
    def masked(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        rows, columns = nl.arange(64)[:, None], nl.arange(32)[None, :]
        tile = nl.load(x[rows, columns], mask=columns < 16)
        largest = nl.max(nl.exp(tile), axis=1, mask=columns < 16)
        nl.store(out[rows, columns], value=nl.add(nl.exp(tile), largest), mask=columns < 16)
        return out

    assert hazards(masked, numbers(64, 16)) == []


def test_what_an_operand_mask_leaves_out_is_not_read() -> None:
    """Rows of an image beyond its border (``conv.py:507`` of nki-samples): not loaded, and masked in the product."""

    def shifted(x, first, masked):
        rows, columns = x.shape
        out = nl.ndarray((columns, columns), dtype=x.dtype, buffer=nl.shared_hbm)
        p, f = nl.arange(rows)[:, None], nl.arange(columns)[None, :]
        whole = nl.load(x)
        tile = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
        tile[p, f] = nl.load(x[p + first, f], mask=p + first < rows)
        moving = tile[p, f][p + first < rows] if masked else tile[p, f]
        nl.store(out, value=nl.copy(nisa.nc_matmul(whole, moving)))
        return out

    x = numbers(64, 32)
    assert hazards(shifted, x, 0, False) == []
    assert hazards(shifted, x, 16, True) == []
    nothing = one(hazards(shifted, x, 64, True), "unwritten")  # the mask leaves nothing: the matmul does not run
    assert nothing.tensors[0].startswith("nc_matmul")
    for first in (16, 64):
        assert one(hazards(shifted, x, first, False), "unwritten").tensors == ("tile", "out")


def test_garbage_reaches_an_output_through_matmul_and_reduction() -> None:
    def summed(x):
        out = nl.ndarray((32, 1), dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.ndarray((64, 32), dtype=x.dtype, buffer=nl.sbuf)
        tile[:, 0:31] = nl.load(x[:, 0:31])
        product = nl.copy(nisa.nc_matmul(tile, tile))
        nl.store(out, value=nl.sum(product, axis=1))
        return out

    hazard = one(hazards(summed, numbers(64, 32)), "unwritten")
    assert hazard.tensors == ("tile", "out") and "32 elements" in hazard.message


def test_a_row_that_is_garbage_stays_in_its_row() -> None:
    def rows(x):
        out = nl.ndarray((63, 1), dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.ndarray((64, 16), dtype=x.dtype, buffer=nl.sbuf)
        tile[0:63, :] = nl.load(x[0:63, :])
        total = nl.sum(tile, axis=1)
        nl.store(out, value=total[0:63, :])
        return out

    assert hazards(rows, numbers(64, 16)) == []


# --- PSUM ------------------------------------------------------------------------------------------------------------


def accumulated(x, same_bank: bool, interleaved: bool):
    out = nl.ndarray((2, 32, 32), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.ndarray((par_dim(64), 32), dtype=x.dtype, buffer=ncc.sbuf.mod_alloc(base_addr=0))
    kept = nl.ndarray((par_dim(32), 32), dtype=x.dtype, buffer=ncc.sbuf.mod_alloc(base_addr=128))
    a = nl.ndarray((par_dim(32), 32), dtype=nl.float32, buffer=ncc.psum.mod_alloc(base_bank=3))
    b = nl.ndarray((par_dim(32), 32), dtype=nl.float32, buffer=ncc.psum.mod_alloc(base_bank=3 if same_bank else 4))
    tile[...] = nl.load(x)
    a[...] = nisa.nc_matmul(tile, tile)
    if interleaved:
        b[...] = nisa.nc_matmul(tile, tile)
    a[...] += nisa.nc_matmul(tile, tile)
    kept[...] = nisa.tensor_copy(a)
    nl.store(out[0], value=kept)
    if not interleaved:
        b[...] = nisa.nc_matmul(tile, tile)
    kept[...] = nisa.tensor_copy(b)
    nl.store(out[1], value=kept)
    return out


def test_accumulation_groups_that_are_interleaved_in_a_bank() -> None:
    found = hazards(accumulated, numbers(64, 32), True, True)
    (hazard,) = [hazard for hazard in found if hazard.kind == "interleaved_groups"]
    assert hazard.tensors == ("a", "b") and "PSUM bank 3" in hazard.message
    assert source_line(hazard, "first") == "b[...] = nisa.nc_matmul(tile, tile)"
    assert source_line(hazard, "second") == "a[...] += nisa.nc_matmul(tile, tile)"
    assert {hazard.kind for hazard in found} <= {"interleaved_groups", "overwritten"}


@pytest.mark.parametrize(("same_bank", "interleaved"), [(False, True), (True, False), (False, False)])
def test_groups_in_banks_of_their_own_or_one_after_the_other(same_bank: bool, interleaved: bool) -> None:
    assert hazards(accumulated, numbers(64, 32), same_bank, interleaved) == []


def halves(x, second: int):
    out = nl2.ndarray((2, 32, 32), dtype=nl2.float32, buffer=nl2.shared_hbm)
    tile = nl2.ndarray((64, 32), dtype=x.dtype, buffer=nl2.sbuf, address=(0, 0))
    kept = nl2.ndarray((32, 32), dtype=nl2.float32, buffer=nl2.sbuf, address=(0, 128))
    a = nl2.ndarray((32, 32), dtype=nl2.float32, buffer=nl2.psum, address=(0, 0))
    b = nl2.ndarray((32, 32), dtype=nl2.float32, buffer=nl2.psum, address=(0, second))
    nisa2.dma_copy(dst=tile, src=x)
    nisa2.nc_matmul(dst=a, stationary=tile, moving=tile)
    nisa2.nc_matmul(dst=b, stationary=tile, moving=tile)
    nisa2.tensor_copy(dst=kept, src=a)
    nisa2.dma_copy(dst=out[0], src=kept)
    nisa2.tensor_copy(dst=kept, src=b)
    nisa2.dma_copy(dst=out[1], src=kept)
    return out


def test_tiles_that_live_at_once_in_one_bank_and_off_its_boundary() -> None:
    found = hazards(halves, numbers(64, 32), 1024, beta2=True)
    assert [hazard.kind for hazard in found] == ["bank_collision", "off_bank"]
    assert found[0].tensors == ("a", "b") and found[1].tensors == ("b",)
    assert "bank 0 bytes 1024-1151" in found[1].message
    assert source_line(found[0], "first") == "nisa2.nc_matmul(dst=b, stationary=tile, moving=tile)"
    assert source_line(found[0], "second") == "nisa2.tensor_copy(dst=kept, src=a)"
    assert hazards(halves, numbers(64, 32), 2048, beta2=True) == []


# --- loops -----------------------------------------------------------------------------------------------------------


def running(x, loop):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    total = nl.zeros(x.shape[1:], dtype=x.dtype, buffer=nl.sbuf)
    for i in loop(x.shape[0]):
        total[...] = nl.add(nl.multiply(total, 0.5), nl.load(x[i]))
        nl.store(out[i], value=total)
    return out


def test_iterations_that_depend_on_each_other() -> None:
    hazard = one(hazards(running, numbers(4, 64, 16), nl.affine_range), "dependent_iterations")
    assert hazard.tensors == ("total",)
    assert "iteration 1 of the affine_range" in hazard.message and "iteration 0 wrote" in hazard.message
    assert source_line(hazard, "first").startswith("total[...] = nl.add")
    assert source_line(hazard, "second").startswith("total[...] = nl.add")
    assert hazards(running, numbers(4, 64, 16), nl.sequential_range) == []


def test_a_reduction_over_iterations_is_allowed_until_it_is_read() -> None:
    def reduced(x, read):
        out = nl.ndarray(x.shape[1:], dtype=x.dtype, buffer=nl.shared_hbm)
        each = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        total = nl.zeros(x.shape[1:], dtype=x.dtype, buffer=nl.sbuf)
        for i in nl.affine_range(x.shape[0]):
            total += nl.load(x[i])
            if read:
                nl.store(each[i], value=total)
        nl.store(out, value=total)
        return (out, each) if read else out

    assert hazards(reduced, numbers(4, 64, 16), False) == []
    assert one(hazards(reduced, numbers(4, 64, 16), True), "dependent_iterations").tensors == ("total",)


def test_a_tile_that_every_iteration_overwrites_first_could_be_its_own() -> None:
    def scratch(x, read_after):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        last = nl.ndarray(x.shape[1:], dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.ndarray(x.shape[1:], dtype=x.dtype, buffer=nl.sbuf)
        for i in nl.affine_range(x.shape[0]):
            tile[...] = nl.load(x[i])
            nl.store(out[i], value=tile)
        if read_after:
            nl.store(last, value=tile)
        return (out, last) if read_after else out

    assert hazards(scratch, numbers(4, 64, 16), False) == []
    assert one(hazards(scratch, numbers(4, 64, 16), True), "dependent_iterations").tensors == ("tile",)


def test_reductions_with_different_operators_do_not_commute() -> None:
    def scaled(x, factor):
        out = nl.ndarray(x.shape[1:], dtype=x.dtype, buffer=nl.shared_hbm)
        total = nl.zeros(x.shape[1:], dtype=x.dtype, buffer=nl.sbuf)
        for i in nl.affine_range(x.shape[0]):
            loaded = nl.load(x[i])
            total += loaded
            if factor:
                total *= loaded
        nl.store(out, value=total)
        return out

    assert hazards(scaled, numbers(4, 64, 16), False) == []
    assert one(hazards(scaled, numbers(4, 64, 16), True), "dependent_iterations").tensors == ("total",)


def test_a_tile_that_is_overwritten_in_part_after_the_loop_is_still_read() -> None:
    def halved(x, width):
        out = nl.ndarray(x.shape[1:], dtype=x.dtype, buffer=nl.shared_hbm)
        each = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.ndarray(x.shape[1:], dtype=x.dtype, buffer=nl.sbuf)
        for i in nl.affine_range(x.shape[0]):
            tile[...] = nl.load(x[i])
            nl.store(each[i], value=tile)
        tile[:, 0:width] = nl.zeros((64, width), dtype=x.dtype, buffer=nl.sbuf)
        nl.store(out, value=tile)
        return out, each

    assert hazards(halved, numbers(4, 64, 16), 16) == []
    assert one(hazards(halved, numbers(4, 64, 16), 8), "dependent_iterations").tensors == ("tile",)


def test_matmuls_add_to_one_group_or_each_overwrites_the_last_one() -> None:
    def products(x, adds, copied):
        out = nl.ndarray((64, 64), dtype=x.dtype, buffer=nl.shared_hbm)
        each = nl.ndarray((x.shape[0], 64, 64), dtype=x.dtype, buffer=nl.shared_hbm)
        total = nl.ndarray((64, 64), dtype=nl.float32, buffer=nl.psum)
        for i in nl.affine_range(x.shape[0]):
            loaded = nl.load(x[i])
            if adds:
                total += nisa.nc_matmul(loaded, loaded)
            else:
                total[...] = nisa.nc_matmul(loaded, loaded)
            if copied:
                nl.store(each[i], value=nl.copy(total))
        if adds or not copied:
            nl.store(out, value=nl.copy(total))
        return each if copied else out

    x = numbers(4, 64, 64)
    assert hazards(products, x, True, False) == []
    assert hazards(products, x, False, True) == []
    assert one(hazards(products, x, True, True), "dependent_iterations").tensors == ("total",)
    assert one(hazards(products, x, False, False), "dependent_iterations").tensors == ("total",)


def test_a_group_that_one_iteration_starts_and_the_others_add_to() -> None:
    def products(x, loop):
        out = nl.ndarray((64, 64), dtype=x.dtype, buffer=nl.shared_hbm)
        total = nl.ndarray((64, 64), dtype=nl.float32, buffer=nl.psum)
        for i in loop(x.shape[0]):
            loaded = nl.load(x[i])
            if i == 0:
                total[...] = nisa.nc_matmul(loaded, loaded)
            else:
                total[...] += nisa.nc_matmul(loaded, loaded)
        nl.store(out, value=nl.copy(total))
        return out

    x = numbers(4, 64, 64)
    hazard = one(hazards(products, x, nl.affine_range), "dependent_iterations")
    assert hazard.tensors == ("total",) and "iteration 1" in hazard.message and "iteration 0 wrote" in hazard.message
    assert source_line(hazard, "first") == "total[...] = nisa.nc_matmul(loaded, loaded)"
    assert source_line(hazard, "second") == "total[...] += nisa.nc_matmul(loaded, loaded)"
    assert hazards(products, x, nl.sequential_range) == []
    assert hazards(products, x, nl.static_range) == []
    backwards = launch1(nki.jit(products), {"x": x, "loop": nl.affine_range}, descending=True)
    assert not np.array_equal(backwards.outputs[0], launch1(nki.jit(products), {"x": x, "loop": range}).outputs[0])


def test_a_group_that_every_iteration_starts_anew_and_adds_to() -> None:
    def products(x):
        out = nl.ndarray((x.shape[0], 64, 64), dtype=x.dtype, buffer=nl.shared_hbm)
        total = nl.ndarray((64, 64), dtype=nl.float32, buffer=nl.psum)
        for i in nl.affine_range(x.shape[0]):
            loaded = nl.load(x[i])
            total[...] = nisa.nc_matmul(loaded, loaded)
            for _ in nl.affine_range(3):
                total[...] += nisa.nc_matmul(loaded, loaded)
            nl.store(out[i], value=nl.copy(total))
        return out

    assert hazards(products, numbers(4, 64, 64)) == []


def test_beta_2_unrolls_its_loops() -> None:
    def unrolled(x):
        out = nl2.ndarray(x.shape, dtype=x.dtype, buffer=nl2.shared_hbm)
        total = nl2.zeros((64, 16), dtype=nl2.float32, buffer=nl2.sbuf)
        loaded = nl2.ndarray((64, 16), dtype=nl2.float32, buffer=nl2.sbuf)
        for i in nl2.affine_range(4):
            nisa2.dma_copy(dst=loaded, src=x[i])
            nisa2.tensor_tensor(dst=total, data1=total, data2=loaded, op=nl2.add)
            nisa2.dma_copy(dst=out[i], src=total)
        return out

    assert hazards(unrolled, numbers(4, 64, 16), beta2=True) == []


# --- addresses -------------------------------------------------------------------------------------------------------


def placed(x, byte: int):
    out = nl2.ndarray((2, 64, 16), dtype=x.dtype, buffer=nl2.shared_hbm)
    a = nl2.ndarray((64, 16), dtype=nl2.float32, buffer=nl2.sbuf, address=(0, 0))
    b = nl2.ndarray((64, 16), dtype=nl2.float32, buffer=nl2.sbuf, address=(0, byte))
    nisa2.dma_copy(dst=a, src=x)
    nisa2.tensor_copy(dst=b, src=a)
    nisa2.dma_copy(dst=out[0], src=b)
    nisa2.dma_copy(dst=out[1], src=b)
    return out


def test_beta_2_a_copy_onto_its_own_source_at_another_place() -> None:
    hazard = one(hazards(placed, numbers(64, 16), 32, beta2=True), "overlap")
    assert hazard.tensors == ("a", "b") and "bytes 0-63 and sbuf partitions 0-63, bytes 32-95" in hazard.message
    assert source_line(hazard, "second") == "nisa2.tensor_copy(dst=b, src=a)"


@pytest.mark.parametrize("byte", [0, 64])
def test_beta_2_in_place_or_apart_is_fine(byte: int) -> None:
    assert hazards(placed, numbers(64, 16), byte, beta2=True) == []


def test_beta_2_two_live_tensors_with_overlapping_addresses() -> None:
    def together(x):
        out = nl2.ndarray((64, 16), dtype=x.dtype, buffer=nl2.shared_hbm)
        a = nl2.ndarray((64, 16), dtype=nl2.float32, buffer=nl2.sbuf, address=(0, 0))
        b = nl2.ndarray((64, 16), dtype=nl2.float32, buffer=nl2.sbuf, address=(0, 32))
        nisa2.dma_copy(dst=a, src=x)
        nisa2.memset(dst=b, value=0.0)
        nisa2.dma_copy(dst=out, src=a)
        return out

    hazard = one(hazards(together, numbers(64, 16), beta2=True), "overwritten")
    assert hazard.tensors == ("a", "b")
    assert source_line(hazard, "first") == "nisa2.memset(dst=b, value=0.0)"


def test_beta_2_an_engine_access_that_starts_inside_a_quadrant() -> None:
    def sliced(x, start):
        out = nl2.ndarray((16, 16), dtype=x.dtype, buffer=nl2.shared_hbm)
        a = nl2.ndarray((128, 16), dtype=nl2.float32, buffer=nl2.sbuf, address=(0, 0))
        b = nl2.ndarray((16, 16), dtype=nl2.float32, buffer=nl2.sbuf, address=(0, 64))
        nisa2.dma_copy(dst=a, src=x)
        nisa2.tensor_copy(dst=b, src=a[start : start + 16, :])
        nisa2.dma_copy(dst=out, src=b)
        return out

    with pytest.raises(KernelError, match="'a' is accessed at 16 partitions from partition 5"):
        hazards(sliced, numbers(128, 16), 5, beta2=True)
    assert hazards(sliced, numbers(128, 16), 32, beta2=True) == []


def test_sbuf_over_subscription_says_the_high_water_mark() -> None:
    def wide(x, tiles):
        out = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.shared_hbm)
        kept = [nl.full((128, 16384), 1.0, dtype=nl.float32, buffer=nl.sbuf) for _ in range(tiles)]
        total = nl.zeros((128, 1), dtype=nl.float32, buffer=nl.sbuf)
        for tile in kept:
            total[...] = nl.add(total, nl.max(tile, axis=1))
        nl.store(out, value=total)
        return out

    hazard = one(hazards(wide, numbers(1, 1), 4), "oversubscribed")
    assert f"at least {4 * 65536 + 8} bytes" in hazard.message and "has 212984" in hazard.message
    assert hazards(wide, numbers(1, 1), 3) == []


def products_in_psum(x, tiles: int, loop, copies_later: bool):
    """``tiles`` products of a bank each, copied in the loop that makes them or in one of their own."""
    out = nl.ndarray((tiles, 128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    made = nl.zeros((tiles, par_dim(128), 512), dtype=nl.float32, buffer=nl.psum, lazy_initialization=True)
    for i in loop(tiles):
        loaded = nl.load(x)
        made[i] += nisa.nc_matmul(loaded[:, 0:128], loaded)
        if not copies_later:
            nl.store(out[i], value=nl.copy(made[i]))
    if copies_later:
        for i in loop(tiles):
            nl.store(out[i], value=nl.copy(made[i]))
    return out


def test_psum_is_over_subscribed_unless_parallel_loops_can_run_together() -> None:
    x = numbers(128, 512)
    assert hazards(products_in_psum, x, 8, nl.sequential_range, True) == []
    one(hazards(products_in_psum, x, 9, nl.sequential_range, True), "oversubscribed")
    assert hazards(products_in_psum, x, 9, nl.sequential_range, False) == []
    assert hazards(products_in_psum, x, 9, nl.affine_range, True) == []


def test_sums_over_a_parallel_loop_are_all_in_psum_at_once() -> None:
    def sums(x, count):
        out = nl.ndarray((count, 128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
        totals = nl.zeros((count, par_dim(128), 512), dtype=nl.float32, buffer=nl.psum)
        for _ in nl.affine_range(2):
            loaded = nl.load(x)
            for i in nl.affine_range(count):
                totals[i] += nisa.nc_matmul(loaded[:, 0:128], loaded)
        for i in nl.affine_range(count):
            nl.store(out[i], value=nl.copy(totals[i]))
        return out

    assert hazards(sums, numbers(128, 512), 8) == []
    one(hazards(sums, numbers(128, 512), 9), "oversubscribed")


def test_recording_off_records_nothing() -> None:
    result = launch1(nki.jit(running), {"x": numbers(2, 4, 4), "loop": nl.affine_range})
    assert [machine.recorder for machine in result.machines] == [None]


@pytest.mark.parametrize("space", ["psum", "sbuf"])
@pytest.mark.parametrize("pinned", [True, False])
def test_what_nothing_wrote_is_a_hazard_in_either_memory_and_dialect(space: str, pinned: bool) -> None:
    """An output that comes from it is reported, a tile of which only the written part is stored is not."""

    def old(x, rows):
        out = nl.ndarray((64, 16), dtype=x.dtype, buffer=nl.shared_hbm)
        place = {"psum": ncc.psum.mod_alloc(base_bank=0), "sbuf": ncc.sbuf.mod_alloc(base_addr=0)}
        free = {"psum": nl.psum, "sbuf": nl.sbuf}
        half = nl.ndarray((64, 16), dtype=x.dtype, buffer=(place if pinned else free)[space])
        staged = nl.ndarray((64, 16), dtype=x.dtype, buffer=ncc.sbuf.mod_alloc(base_addr=512) if pinned else nl.sbuf)
        staged[...] = nl.load(x)
        half[0:32] = nisa.tensor_copy(staged[0:32])
        staged[0:rows] = nisa.tensor_copy(half[0:rows])
        nl.store(out, value=staged)
        return out

    def new(x, rows, memory, address, beside):
        out = nl2.ndarray((64, 16), dtype=x.dtype, buffer=nl2.shared_hbm)
        half = nl2.ndarray((64, 16), dtype=x.dtype, buffer=memory, address=address)
        staged = nl2.ndarray((64, 16), dtype=x.dtype, buffer=nl2.sbuf, address=beside)
        nisa2.dma_copy(dst=staged, src=x)
        nisa2.tensor_copy(dst=half[0:32], src=staged[0:32])
        nisa2.tensor_copy(dst=staged[0:rows], src=half[0:rows])
        nisa2.dma_copy(dst=out, src=staged)
        return out

    addresses = ((0, 0), (0, 512)) if pinned else (None, None)
    for kernel, more, beta2 in ((old, (), False), (new, (getattr(nl2, space), *addresses), True)):
        hazard = one(hazards(kernel, numbers(64, 16), 64, *more, beta2=beta2), "unwritten")
        assert hazard.tensors == ("half", "out")
        assert hazards(kernel, numbers(64, 16), 32, *more, beta2=beta2) == []
