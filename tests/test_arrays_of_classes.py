"""Arrays of a class that a program derived from numpy's or a framework's are data: nothing in it is kernel code."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from nki_migrate.runtime import host
from nki_migrate.runtime.beta1.launch import launch as launch_beta1
from nki_migrate.runtime.beta1.modules import MODULES as BETA1
from nki_migrate.runtime.beta2.gather import gathered
from nki_migrate.runtime.beta2.launch import launch
from nki_migrate.runtime.beta2.modules import MODULES
from nki_migrate.runtime.spec.versions import OLDEST

nki, nl, nisa = (MODULES[name] for name in ("nki", "nki.language", "nki.isa"))
old_nl: Any = BETA1["neuronxcc.nki.language"]


class Named(np.ndarray):  # type: ignore[type-arg]
    """What no kernel may be: it has a comprehension, a raise and a try."""

    def __array_finalize__(self, other: Any) -> None:
        try:
            self.names = [str(name) for name in getattr(other, "names", ())]
        except TypeError:
            raise ValueError("names") from None


class TensorOfAFramework:
    """What a framework's tensor looks like from outside."""

    __module__ = "torch"
    shape, dtype = (4, 3), "torch.float32"

    def __init__(self) -> None:
        self.values = [lambda: None]


class Parameter(TensorOfAFramework):
    """A class of the program's own, derived from it."""

    def judged(self) -> Any:
        return [value for value in self.values if value]


def copied(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.dma_copy(dst=out, src=tile)
    return out


def first_of(pair):
    return copied(pair[0])


def old_copied(x: Any) -> Any:
    out = old_nl.ndarray(x.shape, dtype=x.dtype, buffer=old_nl.shared_hbm)
    for i in old_nl.affine_range(4):
        old_nl.store(out[i : i + 1], old_nl.load(x[i : i + 1]))
    return out


X = np.arange(12, dtype=np.float32).reshape(4, 3)


def test_an_array_of_a_class_is_an_argument_like_any_other() -> None:
    named = X.view(Named)
    named.names = ["a"]
    np.testing.assert_array_equal(launch(copied, {"x": named}).outputs[0], X)
    np.testing.assert_array_equal(launch(first_of, {"pair": [named, 2]}).outputs[0], X)
    np.testing.assert_array_equal(launch_beta1(old_copied, {"x": named}).outputs[0], X)
    assert named.names == ["a"]


FRAMEWORK = {
    "tensor": TensorOfAFramework(),
    "parameter": Parameter(),
    "list": [Parameter()],
    "dictionary": {"x": Parameter()},
}


@pytest.mark.parametrize("value", FRAMEWORK.values(), ids=FRAMEWORK)
def test_nothing_of_a_frameworks_tensor_is_judged(value: object) -> None:
    assert [item.function for item in gathered(copied, [value], OLDEST)] == [copied]


def test_a_class_derived_from_a_frameworks_tensor_is_of_that_framework(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace())
    assert host.framework_of(Parameter()) == "torch"
    assert host.framework_of(X.view(Named)) == host.framework_of(object()) == ""
