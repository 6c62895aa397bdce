"""A tile that a function of the language gives is not filled first: nothing of what was in its memory is ever seen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from nki_migrate.runtime.beta2 import declare
from nki_migrate.runtime.beta2.launch import launch
from nki_migrate.runtime.beta2.modules import MODULES

nki, nl = MODULES["nki"], MODULES["nki.language"]


@nki.jit
def functions(x, y, w, truth):  # type: ignore[no-untyped-def]
    out = nl.ndarray((13, 64, 32), dtype=nl.float32, buffer=nl.shared_hbm)
    columns = nl.ndarray((6, 64, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    for row in range(2):
        a = nl.load(x[row * 64 : row * 64 + 64, :])
        b = nl.load(y[row * 64 : row * 64 + 64, ::2])
        gamma = nl.broadcast_to(nl.load(w), (64, 32))
        if row == 1:
            nl.store(out[0], a)
            nl.store(out[1], b)
            nl.store(out[2], nl.add(a, b))
            nl.store(out[3], nl.multiply(a, 3.0))
            nl.store(out[4], nl.exp(a))
            nl.store(out[5], nl.softmax(a, axis=[1]))
            nl.store(out[6], nl.rms_norm(a, gamma, axis=[1], n=32))
            nl.store(out[7], nl.where(nl.load(truth), a, b))
            nl.store(out[8], nl.copy(a, dtype=nl.bfloat16))
            nl.store(out[9], gamma)
            nl.store(out[10], nl.subtract(2.0, b))
            nl.store(out[11], nl.maximum(a, b))
            nl.store(out[12], nl.square(b))
            nl.store(columns[0], nl.sum(a, axis=[1], keepdims=True))
            nl.store(columns[1], nl.max(a, axis=[1], keepdims=True))
            nl.store(columns[2], nl.mean(a, axis=[1], keepdims=True))
            nl.store(columns[3], nl.var(a, axis=[1]))
            nl.store(columns[4], nl.min(b, axis=[1], keepdims=True))
            nl.store(columns[5], nl.load(x[0:64, 3:4]))
    return out, columns


class _Memory:
    """numpy, whose new arrays hold what some other tile has left there."""

    def __init__(self, byte: int) -> None:
        self.byte, self.made = byte, 0

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        self.made += 1
        found = np.empty(shape, dtype)
        found.reshape(-1).view(np.uint8)[...] = self.byte
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


def test_what_was_in_memory_before_is_never_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    given = {
        "x": rng.standard_normal((128, 32), np.float32),
        "y": rng.standard_normal((128, 64), np.float32),
        "w": rng.standard_normal((1, 32), np.float32),
        "truth": rng.integers(0, 2, (64, 32)).astype(np.uint8),
    }
    seen = []
    for byte in (0x00, 0x5A, 0xFF):
        memory = _Memory(byte)
        monkeypatch.setattr(declare, "np", memory)
        seen.append([output.tobytes() for output in launch(functions, given).outputs])
        assert memory.made > 30
    assert seen[0] == seen[1] == seen[2]
