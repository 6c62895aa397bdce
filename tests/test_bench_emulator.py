"""What ``tests/bench/emulator.py`` takes for NumPy's work."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from nki_migrate.runtime.beta1.launch import launch
from nki_migrate.runtime.beta1.modules import MODULES
from nki_migrate.runtime.isa import core

sys.path.insert(0, str(Path(__file__).resolve().parent / "bench"))

from emulator_calls import nothing, numpy_calls, repeat

nki: Any = MODULES["neuronxcc.nki"]
nl: Any = MODULES["neuronxcc.nki.language"]


@nki.jit
def exponential(x: Any) -> Any:
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.add(nl.load(x), 1.0)
    nl.store(out, nl.exp(tile))
    return out


def test_all_that_the_instructions_do_with_arrays_is_noted() -> None:
    x = np.zeros((4, 8), np.float32)
    code = core.commit.__code__
    calls = numpy_calls(lambda: launch(exponential, {"x": x}))
    named = [getattr(function, "__name__", "") for function, _, _ in calls]
    assert named.count("add") == 1  # a function from a table
    assert named.count("exp") == 1  # one that a closure calls
    assert named.count("ones") == 1  # behind the last element, up to a whole vector
    assert named.count("setitem") == 3  # into whole vectors and out of them, and into the destination
    assert len(nothing(calls)) == len(calls)
    repeat(calls)
    assert core.commit.__code__ is code
    np.testing.assert_allclose(launch(exponential, {"x": x}).outputs[0], np.full((4, 8), np.e), rtol=1e-6)
