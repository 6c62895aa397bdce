"""What one place in a kernel declares again and again: another tile each time, judged anew where anything differs."""

import numpy as np
import pytest
from nki_migrate.runtime.beta1.launch import launch as launch_beta1
from nki_migrate.runtime.beta1.modules import MODULES as BETA1
from nki_migrate.runtime.beta2.launch import execute
from nki_migrate.runtime.beta2.modules import MODULES as BETA2
from nki_migrate.runtime.errors import KernelError
from nki_migrate.runtime.memory import poisoned
from nki_migrate.runtime.numerics import DTYPES
from nki_migrate.runtime.packed import PACKED

nki1, nl1 = BETA1["neuronxcc.nki"], BETA1["neuronxcc.nki.language"]
nki, nl = BETA2["nki"], BETA2["nki.language"]
X = np.zeros((8, 8), np.float32)


def declaring(*shapes, **options):
    """A Beta 2 kernel that declares ``shapes`` at one place."""

    @nki.jit
    def kernel(x):
        tiles = []
        for shape in shapes:
            tile = nl.ndarray(shape, nl.float32, nl.sbuf, **options)
            assert np.array_equal(tile.array.view(np.uint8), np.full((tile.array.nbytes // 32, 32), 0xFF, np.uint8))
            tile.array[...] = 1.0  # the next one must not see it
            tiles.append(tile)
        return nl.ndarray((8, 8), nl.float32, nl.shared_hbm)

    return kernel


@pytest.mark.parametrize("dtype", [*DTYPES.values(), *PACKED.values()], ids=str)
@pytest.mark.parametrize("shape", [(4, 6), (128, 512)], ids=["small", "large"])
def test_what_was_never_written_is_poison(shape, dtype):
    first, second = poisoned(shape, dtype), poisoned(shape, dtype)
    assert first.dtype == dtype and first.shape == shape and first.flags.c_contiguous
    assert first.tobytes() == second.tobytes() == b"\xff" * first.nbytes
    assert not np.shares_memory(first, second)


def test_each_tile_of_a_place_has_memory_of_its_own():
    machine = execute(declaring((4, 8), (4, 8), (4, 8), (8, 8), (4, 8)), {"x": X}).machines[0]
    tiles = [tile for tile in machine.allocations if tile.space == "sbuf"]
    assert [(tile.name, tile.shape, tile.uid) for tile in tiles] == [
        ("tile", (8 if uid == 4 else 4, 8), uid) for uid in range(1, 6)
    ]


@pytest.mark.parametrize("wrong", [(8.0, 8), (8, None), (8, -1)], ids=str)
def test_what_equals_a_known_shape_is_judged(wrong):
    with pytest.raises(KernelError, match="expecting"):
        execute(declaring((8, 8), (8, 8), wrong), {"x": X})


def test_the_placement_is_judged_in_each_launch():
    @nki.jit
    def kernel(x, first):
        for address in (first, None):
            if address is not None:
                nl.ndarray((8, 8), nl.float32, nl.sbuf, address=address)
            else:
                tile = nl.ndarray((8, 8), nl.float32, nl.sbuf)
        return nl.ndarray(tile.shape, nl.float32, nl.shared_hbm)

    for _ in range(2):
        execute(kernel, {"x": X, "first": None}, version="0.3")
    with pytest.raises(KernelError, match="Cannot mix manual and automatic"):
        execute(kernel, {"x": X, "first": (0, 0)}, version="0.3")


def test_blocks_are_not_taken_for_a_tile_of_three_dimensions():
    kinds = []

    @nki1.jit
    def kernel(x):
        out = nl1.ndarray((8, 8), dtype=nl1.float32, buffer=nl1.shared_hbm)
        for shape in ((4, 8, 8), (4, 8, 8), (4, nl1.par_dim(8), 8), (nl1.par_dim(4), 8, 8)):
            tile = nl1.ndarray(shape, dtype=nl1.float32, buffer=nl1.sbuf)
            kinds.append((type(tile).__name__, tile.shape))
        nl1.store(out, nl1.load(x))
        return out

    launch_beta1(kernel, {"x": X})
    tile = ("Tile", (4, 8, 8))
    assert kinds == [tile, tile, ("BlockTensor", (4, 8, 8)), tile]


def test_blocks_that_a_place_declares_again_are_blocks_of_their_own():
    made = []

    @nki1.jit
    def kernel(x):
        out = nl1.ndarray((8, 8), dtype=nl1.float32, buffer=nl1.shared_hbm)
        for count in (2, 2, 3, 2):
            tiles = nl1.ndarray((count, nl1.par_dim(8), 8), dtype=nl1.float32, buffer=nl1.sbuf)
            for block in range(count):
                tiles[block] = nl1.load(x)
            made.append((tiles.name, tiles.shape, [tiles[block].alloc.block for block in range(count)]))
        nl1.store(out, tiles[0])
        return out

    machine = launch_beta1(kernel, {"x": X}).machines[0]
    assert made == [("tiles", (n, 8, 8), [(block,) for block in range(n)]) for n in (2, 2, 3, 2)]
    assert sum(tile.space == "sbuf" for tile in machine.allocations) == 9


def test_the_precision_of_the_simulator_is_not_that_of_an_earlier_launch():
    stored = []

    @nki1.jit
    def kernel(x):
        out = nl1.ndarray((8, 8), dtype=nl1.float32, buffer=nl1.shared_hbm)
        tile = nl1.ndarray((8, 8), dtype=nl1.bfloat16, buffer=nl1.sbuf)
        copied = nl1.copy(nl1.load(x), dtype=nl1.bfloat16)
        stored.append((tile.stored.name, copied.stored.name))
        nl1.store(out, copied)
        return out

    for precision in ("engine", "simulator", "engine"):
        launch_beta1(kernel, {"x": X}, precision=precision)
    assert stored == [("bfloat16",) * 2, ("float32",) * 2, ("bfloat16",) * 2]


@pytest.mark.parametrize("in_hbm", [True, False])
def test_a_part_that_is_assigned_to_its_own_place_is_no_instruction(in_hbm):
    @nki1.jit
    def kernel(x):
        out = nl1.ndarray((8, 8), dtype=nl1.float32, buffer=nl1.shared_hbm)
        tile = nl1.load(x)
        part = out if in_hbm else tile
        part[0] = part[0]
        key = (nl1.arange(8)[:, None], nl1.arange(8)[None, :])
        tile[key] += 1.0
        tile[key] = tile[key]
        nl1.store(out, tile)
        return out

    if in_hbm:
        with pytest.raises(KernelError, match="err_unsupported_memory"):
            launch_beta1(kernel, {"x": X})
        return
    run = launch_beta1(kernel, {"x": X}, record=True)
    assert [event.op for event in run.machines[0].events] == ["dma_copy", "tensor_scalar", "dma_copy"]
    assert np.array_equal(run.outputs[0], X + 1)


def test_a_copy_of_a_masked_result_has_memory_of_its_own():
    @nki1.jit
    def kernel(x):
        out = nl1.ndarray((8, 8), dtype=nl1.float32, buffer=nl1.shared_hbm)
        rows, columns = nl1.arange(8)[:, None], nl1.arange(8)[None, :]
        part = nl1.load(x[rows, columns], mask=rows < 4)
        whole = nl1.ndarray((8, 8), dtype=nl1.float32, buffer=nl1.sbuf)
        whole[...] = 1.0
        first, second = nl1.copy(part), nl1.copy(whole)
        part[...] = 7.0
        whole[...] = 7.0
        nl1.store(out[rows, columns], first, mask=rows < 4)
        nl1.store(out[rows + 4, columns], second[rows, columns], mask=rows < 4)
        return out

    out = launch_beta1(kernel, {"x": X}).outputs[0]
    assert np.array_equal(out, np.repeat([[0.0], [1.0]], 4, axis=0) * np.ones((1, 8)))
