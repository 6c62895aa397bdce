"""What public kernels do that the emulator once had wrong or lacked, each in a few lines of our own."""

from __future__ import annotations

import sys
from functools import partial
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest
from nki_migrate.runtime.beta2 import launch
from nki_migrate.runtime.beta2.modules import MODULES
from nki_migrate.runtime.errors import KernelError
from nki_migrate.runtime.spec.hardware import TARGETS

execute = partial(launch.execute, version="0.2")

nl, nisa = MODULES["nki.language"], MODULES["nki.isa"]


def loaded(array):
    tile = nl.ndarray(array.shape, array.dtype, nl.sbuf)
    nisa.dma_copy(dst=tile, src=array)
    return tile


def stored(tile):
    out = nl.ndarray(tile.shape, tile.dtype, nl.shared_hbm)
    nisa.dma_copy(dst=out, src=tile)
    return out


def test_a_column_may_have_more_partitions_than_the_data():
    """nkilib's attention_cte passes a (128, 1) tile of zeros as a bound of fewer rows."""

    def kernel(x, column):
        tile, operand = loaded(x), loaded(column)
        nisa.tensor_scalar(tile, tile, nl.add, operand)
        return stored(tile)

    x, column = np.ones((5, 3), np.float32), np.arange(8, dtype=np.float32)[:, None]
    assert np.array_equal(execute(kernel, {"x": x, "column": column}).outputs[0], x + column[:5])
    with pytest.raises(KernelError, match="one element for each of the 5 partitions"):
        execute(kernel, {"x": x, "column": column[:4]})


def doubled_rows(stationary, moving, mode):
    left, right = loaded(stationary), loaded(moving)
    psum = nl.ndarray((stationary.shape[2], moving.shape[2]), nl.float32, nl.psum)
    for _ in range(2):
        nisa.nc_matmul(psum, left, right, perf_mode=mode)
    result = nl.ndarray(psum.shape, nl.float32, nl.sbuf)
    nisa.tensor_copy(result, psum)
    return stored(result)


@pytest.mark.parametrize("mode", [nisa.matmul_perf_mode.double_row, "double_row"])
def test_double_row_contracts_partitions_and_the_first_free_dimension(mode):
    rng = np.random.default_rng(0)
    a = rng.integers(-8, 8, (128, 2, 16)).astype(ml_dtypes.float8_e4m3)
    b = rng.integers(-8, 8, (128, 2, 40)).astype(ml_dtypes.float8_e5m2)
    result = execute(doubled_rows, {"stationary": a, "moving": b, "mode": mode}).outputs[0]
    assert np.array_equal(result, 2 * np.einsum("kri,krj->ij", a.astype(np.float32), b.astype(np.float32)))


@pytest.mark.parametrize(
    ("shape", "dtype", "target", "match"),
    [
        ((128, 2, 16), ml_dtypes.bfloat16, "gen3", "must be float8_e4m3 or float8_e5m2"),
        ((128, 3, 16), ml_dtypes.float8_e5m2, "gen3", r"must have shape \(partitions, 2, ...\)"),
        ((128, 2, 16), ml_dtypes.float8_e5m2, "gen2", "needs NeuronCore-v3"),
    ],
)
def test_double_row_has_its_own_rules(shape, dtype, target, match):
    a = np.zeros(shape, dtype)
    with pytest.raises(KernelError, match=match):
        execute(doubled_rows, {"stationary": a, "moving": a, "mode": "double_row"}, target=TARGETS[target])


@pytest.mark.parametrize(
    ("position", "size", "match"),
    [
        ((0, 0), (), "given together or not at all"),
        ((0, 0), (48, 128), "must be 32, 64 or 128"),
        ((16, 0), (32, 128), "a multiple of it inside the array"),
        ((128, 0), (32, 128), "inside the array"),
        ((0, 0), (32, 128), r"stationary of shape \(64, 16\) exceeds tile_size \(32, 128\)"),
    ],
)
def test_a_part_of_the_systolic_array_is_checked(position, size, match):
    def kernel(x):
        tile, psum = loaded(x), nl.ndarray((16, 16), nl.float32, nl.psum)
        nisa.nc_matmul(psum, tile, tile, tile_position=position, tile_size=size)

    with pytest.raises(KernelError, match=match):
        execute(kernel, {"x": np.zeros((64, 16), np.float32)})


def test_what_library_code_asks_on_the_host_has_an_answer():
    """nkilib's kernel_helpers and topk, when its tests plan a launch: the default target, no grid."""
    assert nisa.get_nc_version() is nisa.nc_version.gen3
    assert nl.program_ndim() == 0
    with pytest.raises(KernelError, match="err_nki_api_outside_of_nki_kernel"):
        nl.program_id(0)


def test_memories_are_known_without_an_import():
    """The quickstart of the 2.28 documentation declares its tensors by ``sbuf.view`` and ``hbm.view``."""

    def kernel(a, b):
        tiles = [sbuf.view(dtype=a.dtype, shape=a.shape) for _ in range(3)]  # noqa: F821
        nisa.dma_copy(dst=tiles[0], src=a)
        nisa.dma_copy(dst=tiles[1], src=b)
        nisa.tensor_tensor(dst=tiles[2], data1=tiles[0], data2=tiles[1], op=nl.add)
        result = hbm.view(dtype=a.dtype, shape=a.shape)  # noqa: F821
        nisa.dma_copy(dst=result, src=tiles[2])
        return result

    a = np.arange(12, dtype=np.float16).reshape(4, 3)
    assert np.array_equal(execute(kernel, {"a": a, "b": a}).outputs[0], a + a)
    with pytest.raises(NameError, match="sbuf"):
        execute(kernel, {"a": a, "b": a}, version="0.3")
    with pytest.raises(NameError, match="sbuf"):
        eval("sbuf")


class Tensor:
    """Stands in for torch.Tensor: told by the module of its type."""

    shape, dtype = (2, 2), "torch.float32"

    def __init__(self, data):
        self.data = data

    def detach(self):
        return self

    def numpy(self):
        return self.data


def test_tensors_of_a_framework_come_back_as_such(monkeypatch):
    """Also inside lists: the scripts around the tutorials pass torch tensors and go on with what they get."""
    Tensor.__module__ = "torch"
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(from_numpy=Tensor))

    def kernel(pair):
        return stored(loaded(pair[1]))

    result = MODULES["nki"].jit(kernel)([Tensor(np.zeros((2, 2), np.float32)), Tensor(np.eye(2, dtype=np.float32))])
    assert isinstance(result, Tensor)
    assert np.array_equal(result.data, np.eye(2))


def test_the_environment_names_the_hardware(monkeypatch):
    """``NEURON_PLATFORM_TARGET_OVERRIDE``, as the tutorials set it; ``platform_target=`` comes first."""

    def kernel(x):
        tile = nl.ndarray((1, 1), nl.int32, nl.sbuf)
        nisa.memset(tile, nisa.get_nc_version().value)
        return stored(tile)

    monkeypatch.setenv("NKI_MIGRATE_TARGET", "0.2")  # the last with platform_target
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", "trn1")
    jit, x = MODULES["nki"].jit, np.zeros((1, 1), np.float32)
    assert jit(kernel)(x)[0, 0] == 2
    assert jit(kernel, platform_target="trn3")(x)[0, 0] == 4
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", "gpu")
    with pytest.raises(KernelError, match="unknown hardware 'gpu'"):
        jit(kernel)(x)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("bfloat16", ml_dtypes.bfloat16), ("float32", np.float32), ("float8_e5m2", ml_dtypes.float8_e5m2)],
)
def test_a_copy_rounds_to_the_dtype_that_it_names(name, expected):
    """The matmul tutorial: ``tensor_copy(dst=<float32>, src=<psum>, dtype=result.dtype)``, "cast to expected type"."""

    def kernel(x):
        tile, wide = loaded(x), nl.ndarray(x.shape, nl.float32, nl.sbuf)
        nisa.tensor_copy(dst=wide, src=tile, dtype=getattr(nl, name))
        return stored(wide)

    x = np.linspace(-3, 3, 40, dtype=np.float32).reshape(4, 10)
    assert np.array_equal(execute(kernel, {"x": x}).outputs[0], x.astype(expected).astype(np.float32))


def test_the_data_types_have_a_module_of_their_own():
    """nkilib annotates with ``nki.dtype`` and its tests ``import nki.dtype``; it is not in the documentation."""
    assert MODULES["nki"].dtype.float8_e4m3 is nl.float8_e4m3


def test_a_reduction_may_go_to_a_column_with_more_partitions():
    """nkilib's router_topk passes a (128, 1) tile as ``reduce_res`` of 84 rows: the others keep their values."""

    def kernel(x):
        tile, total = loaded(x), nl.ndarray((8, 1), nl.float32, nl.sbuf)
        nisa.memset(total, -1.0)
        nisa.activation_reduce(tile, nl.copy, tile, reduce_op=nl.add, reduce_res=total)
        return stored(total)

    x = np.ones((5, 3), np.float32)
    assert execute(kernel, {"x": x}).outputs[0][:, 0].tolist() == [3, 3, 3, 3, 3, -1, -1, -1]
