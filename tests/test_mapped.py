"""Large memory that nobody wrote is not there, and is seen all the same."""

from __future__ import annotations

import resource
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from nki_migrate.runtime import mapped, memory, shims
from nki_migrate.runtime.beta1.launch import launch

with shims.installed():
    import neuronxcc.nki.language as nl

SIZE = 200 << 20


def resident() -> int:
    """Bytes of this process that are in memory and its own."""
    with open("/proc/self/statm") as stream:
        _, held, shared, *_ = map(int, stream.read().split())
    return (held - shared) * resource.getpagesize()


@pytest.mark.skipif(mapped.repeated(1, 4096) is None, reason="no files in memory here")
def test_memory_that_nobody_wrote_takes_no_room() -> None:
    before = resident()
    made = memory.poisoned((SIZE // 4,), np.dtype(np.float32))
    assert resident() - before < SIZE // 10
    made[: SIZE // 8] = 1
    assert resident() - before > SIZE // 3


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16, np.int8])
def test_every_byte_is_poison_until_it_is_written_and_no_array_sees_another(dtype: Any) -> None:
    count = (mapped.LARGE + 12345 * 8) // np.dtype(dtype).itemsize
    first, second = (memory.poisoned((count,), np.dtype(dtype)) for _ in range(2))
    first[1000:2000] = 0
    for array in (second, first[2000:], first[:1000], memory.poisoned((count,), np.dtype(dtype))):
        assert (array.view(np.uint8) == memory.POISON).all()
    assert not first[1000:2000].any()


def test_where_nothing_can_be_mapped_memory_is_filled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapped, "_mmap", lambda: None)
    assert (memory.poisoned((mapped.LARGE,), np.dtype(np.uint8)) == memory.POISON).all()


def test_a_large_output_shows_what_was_not_written() -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray((1 << 17, 512), dtype=nl.float32, buffer=nl.shared_hbm)
        nl.store(out[0:128, 0:512], nl.load(x))
        return out

    x = np.ones((128, 512), np.float32)
    (out,) = launch(kernel, {"x": x}).outputs
    assert (out[:128] == 1).all() and np.isnan(out[128:]).all()
