"""Adaptive pooling: where each window starts and ends stands in arrays that the kernel computes when it is traced."""

import numpy as np

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def largest_of_windows(x, windows, padding=(1, 2)):
    """(P, F) gives (P, windows): the largest element of each of overlapping windows of x, padded on both sides."""
    rows, columns = x.shape
    dtype = x.dtype
    width = columns + sum(padding)
    out = nl.ndarray((rows, windows), dtype=dtype, buffer=nl.shared_hbm)
    first = (np.arange(windows, dtype=np.int32) * width) // windows
    last = (np.arange(1, windows + 1, dtype=np.int32) * width + windows - 1) // windows
    widths = last - first
    assert int(widths.max()) <= nl.tile_size.psum_fmax
    padded = nl.full((rows, width), fill_value=nl.finfo(dtype).min, dtype=dtype, buffer=nl.sbuf)
    padded[0:rows, padding[0] : padding[0] + columns] = nl.load(x, dtype=dtype)
    result = nl.ndarray((rows, windows), dtype=dtype, buffer=nl.sbuf)
    for w in nl.static_range(windows):
        result[0:rows, w : w + 1] = nl.max(padded[0:rows, first[w] : last[w]], axis=1)
    nl.store(out, value=result)
    return out
