"""A test of a kernel in the simulator."""

import nki.language as nl
import numpy as np
from nki import jit
import nki.isa as nisa


@jit
def squared(x, power=2):
    """(P, F), squared."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    square = nl.ndarray(tile.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=square, data1=tile, data2=tile, op=nl.multiply)
    nisa.dma_copy(dst=out, src=square)
    return out


def check(simulation_only):
    """Does the kernel agree with NumPy?"""
    x = np.random.random_sample((64, 32)).astype(np.float32)
    if simulation_only:
        result = squared(x, power=2)
    else:
        result = squared(x, power=2)
    assert np.allclose(result, x * x)
