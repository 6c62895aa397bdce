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
from nki_migrate.runtime.errors import KernelError, NotModelled

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
