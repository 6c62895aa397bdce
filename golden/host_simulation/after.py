"""A test of a kernel in the simulator, and a measurement."""

import nki.language as nl
import numpy as np
from nki import jit
import nki.isa as nisa
import time


class Benchmark:
    """A kernel that is timed: the latencies of whole calls on the host, in microseconds."""

    def __init__(self, kernel, warmup=10, iters=100):
        self.kernel = kernel
        self.warmup = warmup
        self.iters = iters
        self.latencies = []

    def __getitem__(self, grid):
        return Benchmark(self.kernel[grid], self.warmup, self.iters)

    def __call__(self, *args, **kwargs):
        self.latencies = []
        for number in range(self.warmup + self.iters):
            started = time.perf_counter()
            result = self.kernel(*args, **kwargs)
            if number >= self.warmup:
                self.latencies.append((time.perf_counter() - started) * 1e6)
        return result

    @property
    def benchmark_result(self):
        return self

    @property
    def nc_latency(self):
        return self

    def get_latency_percentile(self, percentile):
        return np.percentile(self.latencies, percentile)


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
    numeric = squared
    if simulation_only:
        result = numeric(x, power=2)
    else:
        result = numeric(x, power=2)
    assert np.allclose(result, x * x)


def measure(limit):
    """Is the median latency below a limit?"""
    timed = Benchmark(squared, warmup=5, iters=10)
    timed(np.zeros([128, 512], dtype=np.float32))
    return timed.benchmark_result.nc_latency.get_latency_percentile(50) <= limit
