"""A test of a kernel in the simulator."""

import nki.language as nl
import numpy as np
from nki import jit


@jit
def squared(x, power=2):
    """(P, F), squared."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    square = nl.multiply(tile, tile)
    nl.store(out, value=square)
    return out


def check(simulation_only):
    """Does the kernel agree with NumPy?"""
    x = np.random.random_sample((64, 32)).astype(np.float32)
    if simulation_only:
        result = squared(x, power=2)
    else:
        result = squared(x, power=2)
    assert np.allclose(result, x * x)
