"""A launch multiplies with one thread and leaves the caller's setting as it was."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
import threadpoolctl
from nki_migrate.runtime import process, shims
from nki_migrate.runtime.beta1.launch import launch as launch_beta1
from nki_migrate.runtime.beta2.launch import execute as launch_beta2

with shims.installed():
    import neuronxcc.nki.isa as nisa
    import neuronxcc.nki.language as nl
    import nki.isa as new_isa
    import nki.language as new_language


def threads() -> set[int]:
    """Those of the library that multiplies for NumPy; SciPy, which other tests load, brings one of its own."""
    libraries = [each for each in threadpoolctl.threadpool_info() if each["user_api"] == "blas"]
    others = ("scipy.libs", "torch")
    return {each["num_threads"] for each in libraries if not any(name in each["filepath"] for name in others)}


@pytest.fixture(autouse=True)
def two_threads() -> Any:
    with threadpoolctl.threadpool_limits(2, "blas"):
        if threads() != {2}:
            pytest.skip("numpy's BLAS library has one thread")
        yield


def test_a_launch_of_either_version_has_one_thread_and_the_caller_two() -> None:
    seen = []

    def old(x: Any) -> Any:
        seen.append(threads())
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(out, nisa.nc_transpose(nl.load(x)))
        return out

    def new(x: Any) -> Any:
        seen.append(threads())
        out = new_language.ndarray(x.shape, dtype=x.dtype, buffer=new_language.shared_hbm)
        new_isa.dma_copy(dst=out, src=x)
        return out

    x = np.ones((4, 4), np.float32)
    launch_beta1(old, {"x": x})
    launch_beta2(new, {"x": x})
    assert seen == [{1}, {1}]
    assert threads() == {2}


def test_an_error_of_a_kernel_leaves_the_setting_as_it_was() -> None:
    with pytest.raises(ZeroDivisionError), process.launching():
        assert threads() == {1}
        raise ZeroDivisionError
    assert threads() == {2}


def test_a_launch_in_a_launch_changes_nothing_and_threads_of_one_may_enter() -> None:
    def program() -> None:
        with process.one_blas_thread():
            seen.append(threads())

    seen: list[set[int]] = []
    with process.launching():
        program()
        thread = threading.Thread(target=program)
        thread.start()
        thread.join()
        assert threads() == {1}
    assert seen == [{1}, {1}]
    assert threads() == {2}


def test_a_launch_of_another_thread_waits() -> None:
    def other() -> None:
        with process.launching():
            seen.append("other")

    seen: list[str] = []
    thread = threading.Thread(target=other)
    with process.launching(), process.launching():
        thread.start()
        thread.join(0.2)
        seen.append("first")
    thread.join()
    assert seen == ["first", "other"]
    assert threads() == {2}


def test_the_libraries_are_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    process.prepare()
    monkeypatch.setattr(process.threadpoolctl, "ThreadpoolController", lambda: pytest.fail("looked for again"))
    with process.launching():
        pass
