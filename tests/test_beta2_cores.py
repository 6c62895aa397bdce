"""Launch grids: program identity, shared memory, barriers, sending and receiving."""

from __future__ import annotations

import numpy as np
import pytest
from nki_migrate.runtime.beta2.launch import execute
from nki_migrate.runtime.beta2.modules import MODULES
from nki_migrate.runtime.errors import KernelError

nki, nl, nisa = MODULES["nki"], MODULES["nki.language"], MODULES["nki.isa"]
ONE = {"x": np.ones((4, 4), np.float32)}


def identity(x):
    result = nl.ndarray((2, 3), nl.int32, nl.shared_hbm)
    row = nl.ndarray((1, 3), nl.int32, nl.sbuf)
    numbers = (nl.program_id(0), nl.num_programs(0), nl.program_ndim())
    for column in range(3):
        nisa.memset(row[0:1, column : column + 1], numbers[column])
    i = nl.program_id(0)
    nisa.dma_copy(dst=result[i : i + 1, 0:3], src=row)
    return result


@pytest.mark.parametrize(("grid", "rows"), [((), [[0, 1, 0]]), ((1,), [[0, 1, 1]]), ((2,), [[0, 2, 1], [1, 2, 1]])])
def test_programs_know_their_place_and_share_hbm(grid, rows):
    assert execute(identity, ONE, grid=grid).outputs[0][: len(rows)].tolist() == rows


def test_subscript_of_a_kernel_is_its_grid():
    assert nki.jit(identity)[2](ONE["x"]).tolist() == [[0, 2, 1], [1, 2, 1]]


@pytest.mark.parametrize("grid", [(3,), (0,), (2, 1), (2.0,)])
def test_other_grids_are_refused(grid):
    with pytest.raises(KernelError, match="the launch grid of a Beta 2 kernel is one integer, 1 or 2"):
        execute(identity, ONE, grid=grid)


def test_only_axis_0_exists():
    with pytest.raises(KernelError, match=r"invalid program axis 1 \(must be zero\)"):
        execute(lambda x: nl.program_id(1), ONE)


def halves(x):
    """Each program writes one row, and after the barrier reads the other program's."""
    i, other = nl.program_id(0), 1 - nl.program_id(0)
    scratch = nl.ndarray((2, 4), x.dtype, nl.shared_hbm, name="scratch")
    result = nl.ndarray((2, 4), x.dtype, nl.shared_hbm, name="result")
    tile = nl.ndarray((1, 4), x.dtype, nl.sbuf)
    nisa.memset(tile, float(i + 1))
    nisa.dma_copy(dst=scratch[i : i + 1, 0:4], src=tile)
    nisa.core_barrier(data=scratch, cores=(0, 1))
    nisa.dma_copy(dst=tile, src=scratch[other : other + 1, 0:4])
    nisa.dma_copy(dst=result[i : i + 1, 0:4], src=tile)
    return result


def test_a_barrier_orders_writes_before_reads():
    assert execute(halves, ONE, grid=(2,)).outputs[0][:, 0].tolist() == [2.0, 1.0]


def exchange(x):
    i, other = nl.program_id(0), 1 - nl.program_id(0)
    result = nl.ndarray((2, 4), x.dtype, nl.shared_hbm)
    mine, theirs = nl.ndarray((1, 4), x.dtype, nl.sbuf), nl.ndarray((1, 4), x.dtype, nl.sbuf)
    nisa.memset(theirs, 10.0 * (i + 1))
    for _ in range(3):
        nisa.tensor_scalar(mine, theirs, nl.add, 1.0)
        nisa.sendrecv(src=mine, dst=theirs, send_to_rank=other, recv_from_rank=other, pipe_id=0)
    nisa.dma_copy(dst=result[i : i + 1, 0:4], src=theirs)
    return result


def test_programs_exchange_tiles():
    assert execute(exchange, ONE, grid=(2,)).outputs[0][:, 0].tolist() == [23.0, 13.0]


def test_meeting_alone_is_an_error():
    with pytest.raises(KernelError, match=r"core_barrier: cores \(0, 1\) need a launch grid of 2 programs"):
        execute(halves, ONE, grid=(1,))

    def only_zero(x):
        if nl.program_id(0) == 0:
            halves(x)

    def only_one(x):
        if nl.program_id(0) == 1:
            halves(x)

    for lopsided in (only_zero, only_one):
        with pytest.raises(KernelError, match="core_barrier: another program of the launch ended without coming here"):
            execute(lopsided, ONE, grid=(2,))


def test_an_error_in_one_program_ends_the_launch():
    def failing(x):
        if nl.program_id(0) == 1:
            nl.program_id(7)
        halves(x)

    with pytest.raises(KernelError, match="invalid program axis 7") as caught:
        execute(failing, ONE, grid=(2,))
    assert caught.value.file == __file__


def test_shared_tensors_of_one_name_have_one_shape():
    def kernel(x):
        nl.ndarray((nl.program_id(0) + 1, 4), x.dtype, nl.shared_hbm, name="shared")

    with pytest.raises(KernelError, match="Tensor shared has mismatched shape or dtype across program instances"):
        execute(kernel, ONE, grid=(2,))


def test_collectives_say_that_there_is_one_core():
    with pytest.raises(KernelError, match=r"nki\.collectives\.all_reduce: the emulator runs one core only"):
        execute(lambda x: MODULES["nki.collectives"].all_reduce([x], [x], None, nl.add), ONE)
