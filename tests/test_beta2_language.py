"""``nki.language`` and ``nki.meta.tensor`` of Beta 2: constants, ranges, slices, printing, sizes; none is left out."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from nki_migrate.runtime.beta2 import launch
from nki_migrate.runtime.beta2.modules import MODULES
from nki_migrate.runtime.errors import KernelError
from nki_migrate.runtime.spec import beta2

execute = partial(launch.execute, version="0.2")

nl, nisa, meta = MODULES["nki.language"], MODULES["nki.isa"], MODULES["nki.meta.tensor"]
ONE = {"x": np.ones((1, 1), np.float32)}
COVERED = {"ndarray", "num_programs", "program_id", "program_ndim", "unique_name", "dynamic_range"}
"""Functions that test_beta2_tensors, test_beta2_cores, test_beta2_objects and test_beta2_guide check."""
CHECKED = {
    "affine_range",
    "device_print",
    "ds",
    "no_reorder",
    "par_dim",
    "range",
    "sequential_range",
    "shared_constant",
    "shared_identity_matrix",
    "static_range",
    "zeros",
}


def outputs(body):
    def kernel(x):
        tensors = body()
        return tuple(_stored(tensor) for tensor in (tensors if isinstance(tensors, tuple) else (tensors,)))

    return execute(kernel, ONE).outputs


def _stored(tensor):
    out = nl.ndarray(tensor.shape, tensor.dtype, nl.shared_hbm)
    nisa.dma_copy(dst=out, src=tensor)
    return out


def test_every_function_of_the_language_is_checked_somewhere():
    prefix = "nki.language."
    names = {
        name.removeprefix(prefix) for name, e in beta2.SYMBOLS.items() if e.is_callable and name.startswith(prefix)
    }
    assert names == COVERED | CHECKED


@pytest.mark.parametrize(
    ("constant", "expected"),
    [
        (lambda: meta.zeros((2, 3), nl.int32), np.zeros((2, 3), np.int32)),
        (lambda: meta.identity(3, nl.float32), np.eye(3, dtype=np.float32)),
        (lambda: meta.arange(1, 9, 3, nl.int32), np.array([[1, 4, 7]], np.int32)),
        (lambda: meta.identity(2) * 3.0 - 1.0, np.array([[2, -1], [-1, 2]], np.float32)),
        (lambda: meta.arange(0, 3) + meta.arange(1, 4), np.array([[1, 3, 5]], np.float32)),
    ],
)
def test_shared_constants_are_tensors_of_trace_time(constant, expected):
    (found,) = outputs(lambda: nl.shared_constant(constant()))
    assert found.dtype == expected.dtype
    assert np.array_equal(found, expected)


def test_a_shared_constant_may_come_from_a_file_and_not_from_numpy(tmp_path):
    table = np.arange(6, dtype=np.float16).reshape(2, 3)
    np.save(tmp_path / "table.npy", table)
    assert np.array_equal(outputs(lambda: nl.shared_constant(str(tmp_path / "table.npy")))[0], table)
    with pytest.raises(KernelError, match="expecting a 'tensor', got 'ndarray'"):
        outputs(lambda: nl.shared_constant(table))
    kernel = execute(lambda x: _stored(nl.shared_constant(table)), ONE, version="0.3")
    assert np.array_equal(kernel.outputs[0], table)


def test_identity_matrices_are_shared():
    def body():
        first, second, other = (nl.shared_identity_matrix(4, dtype) for dtype in ("uint8", nl.uint8, nl.bfloat16))
        assert first is second and first is not other
        return first, other

    for found in outputs(body):
        assert np.array_equal(found.astype(np.float32), np.eye(4))


@pytest.mark.parametrize("name", ["affine_range", "sequential_range", "static_range", "range"])
def test_ranges_are_unrolled_like_pythons(name):
    loop = getattr(nl, name)
    assert list(loop(3)) == [0, 1, 2]
    assert list(loop(1, 8, 3)) == [1, 4, 7]
    with pytest.raises(KernelError, match="expecting 'integer', got 'float'"):
        loop(2.0)


def test_ds_is_the_slice_of_a_start_and_a_size():
    def body():
        tensor = nl.zeros((4, 6), nl.float32)
        nisa.memset(tensor[nl.ds(0, 4), nl.ds(2, 3)], 1.0)
        return tensor

    expected = np.zeros((4, 6))
    expected[:, 2:5] = 1
    assert np.array_equal(outputs(body)[0], expected)


def test_par_dim_is_its_argument_and_warns():
    with pytest.warns(DeprecationWarning, match="par_dim is deprecated"):
        assert execute(lambda x: None if nl.par_dim(128) == 128 else x, ONE).outputs == []


def test_no_reorder_keeps_the_order_that_there_is():
    def body():
        tensor = nl.zeros((1, 2), nl.float32)
        with nl.no_reorder():
            nisa.memset(tensor, 1.0)
            nisa.memset(tensor, 2.0)
        return tensor

    assert np.array_equal(outputs(body)[0], [[2, 2]])


def test_device_print_shows_values(capsys):
    def kernel(x):
        tile = nl.zeros((1, 2), nl.int32)
        nl.device_print("tile:", tile)
        nl.device_print(print_prefix="view:", tensor=tile.ap([[2, 1], [0, 3]]))

    execute(kernel, ONE)
    assert capsys.readouterr().out == "tile: [[0 0]]\nview: [[0 0 0]]\n"
    with pytest.raises(KernelError, match="expecting tensor access, got 'int'"):
        execute(lambda x: nl.device_print("x", 1), ONE)


def test_sizes_are_those_of_the_hardware():
    sizes = nl.tile_size
    assert (sizes.pmax, sizes.psum_fmax, sizes.gemm_stationary_fmax, sizes.gemm_moving_fmax) == (128, 512, 128, 512)
    assert sizes.total_available_sbuf_size == 212984


def test_registers_steer_loops_and_accesses():
    """A dynamic loop inside another: the index of each is a register that an access may take."""

    def kernel(x):
        table = nl.zeros((1, 12), nl.int32)
        one = nl.ndarray((1, 1), nl.int32)
        nisa.memset(one, 1)
        for i in nl.dynamic_range(0, 12, 4):
            for _ in nl.dynamic_range(3):
                cell = table.ap([[12, 1], [1, 1]], scalar_offset=i, indirect_dim=1)
                nisa.tensor_tensor(cell, cell, one, nl.add)
        return _stored(table)

    assert execute(kernel, ONE).outputs[0].tolist() == [[3, 0, 0, 0, 3, 0, 0, 0, 3, 0, 0, 0]]


@pytest.mark.parametrize("name", [n for n in sorted(beta2.SYMBOLS) if n.startswith("nki.collectives.")])
def test_collectives_need_more_than_the_one_core_there_is(name):
    entry = beta2.SYMBOLS[name]
    if entry.kind == "class":
        assert MODULES["nki.collectives"].ReplicaGroup([[0, 1]]).groups == [[0, 1]]
        return
    function = getattr(MODULES["nki.collectives"], name.rpartition(".")[2])
    with pytest.raises(KernelError, match=rf"{name}: the emulator runs one core only"):
        execute(lambda x: function(**dict.fromkeys(entry.required(), x)), ONE)
