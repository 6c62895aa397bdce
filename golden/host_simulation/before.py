"""A test of a kernel in the simulator, and a measurement."""

import neuronxcc.nki.language as nl
import numpy as np
from neuronxcc.nki import baremetal, benchmark, jit, simulate_kernel
from neuronxcc.nki.typing import tensor


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
    numeric = baremetal(squared, save_neff_name="squared.neff")
    if simulation_only:
        result = simulate_kernel(numeric, x, power=2)
    else:
        result = numeric(x, power=2)
    assert np.allclose(result, x * x)


def measure(limit):
    """Is the median latency below a limit?"""
    timed = benchmark(warmup=5, iters=10)(squared)
    timed(tensor[[128, 512], np.float32])
    return timed.benchmark_result.nc_latency.get_latency_percentile(50) <= limit
