"""Kernels called with the arrays of a framework give its arrays back."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from nki_migrate.runtime.beta1.host import as_array, framework_of, returner
from nki_migrate.runtime.beta1.modules import MODULES

nki: Any = MODULES["neuronxcc.nki"]
nl: Any = MODULES["neuronxcc.nki.language"]


@nki.jit
def doubled(x: Any) -> Any:
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.multiply(nl.load(x), 2, dtype=x.dtype))
    return out


@nki.jit(kernel_return=False)
def doubled_into(x: Any, out: Any) -> None:
    nl.store(out, nl.multiply(nl.load(x), 2, dtype=x.dtype))


class Array:
    """What jax's array type looks like from outside."""

    __module__ = "jaxlib._jax"

    def __init__(self, values: Any) -> None:
        self.values = np.asarray(values)
        self.shape, self.dtype = self.values.shape, self.values.dtype

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.values


def test_jax_in_jax_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jax", SimpleNamespace(numpy=SimpleNamespace(asarray=Array)))  # type: ignore
    out = doubled(Array(np.ones((2, 3), np.float32)))
    assert isinstance(out, Array)
    np.testing.assert_array_equal(out.values, np.full((2, 3), 2, np.float32))


def test_numpy_stays_numpy() -> None:
    assert type(doubled(np.ones((2, 3), np.float32))) is np.ndarray
    assert returner([np.zeros(1), 3, None])(np.zeros(2)).shape == (2,)


def test_what_has_no_shape_is_no_array() -> None:
    class Config:
        __module__ = "torch.something"

    assert framework_of(Config()) == "" and as_array(Config()) is None and as_array(3) is None


def test_torch() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed: nothing of it can be passed")
    for dtype in (torch.float32, torch.bfloat16, torch.float16, torch.int32, torch.float8_e5m2):
        x = torch.ones(2, 3).to(dtype)
        shared = as_array(x)
        assert shared is not None and shared.__array_interface__["data"][0] == x.data_ptr()
        out = doubled(x)
        assert out.dtype == dtype and bool((out.to(torch.float32) == 2).all())
    array = as_array(torch.tensor([[1.5]], dtype=torch.bfloat16))
    assert array is not None and array.dtype == ml_dtypes.bfloat16
    out = torch.zeros(2, 3)
    doubled_into(torch.ones(2, 3), out)
    assert bool((out == 2).all())
