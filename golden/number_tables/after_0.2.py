"""Adaptive pooling: where each window starts and ends stands in arrays that the kernel computes when it is traced."""

import nki
import nki.language as nl
import nki.isa as nisa


def total(values):
    """The sum of a list or tuple."""
    result = 0
    for value in values:
        result = result + value
    return result


def smallest_of(dtype):
    """The smallest finite number of a floating point type."""
    name = str(dtype)
    if name == str(nl.float32):
        return -3.4028234663852886e+38
    if name == str(nl.bfloat16):
        return -3.3895313892515355e+38
    if name == str(nl.float16):
        return -65504.0
    if name == str(nl.float8_e4m3):
        return -240.0
    if name == str(nl.float8_e5m2):
        return -57344.0
    assert False, "smallest_of: unknown data type"


@nki.jit
def largest_of_windows(x, windows, padding=(1, 2)):
    """(P, F) gives (P, windows): the largest element of each of overlapping windows of x, padded on both sides."""
    rows, columns = x.shape
    dtype = x.dtype
    width = columns + total(padding)
    out = nl.ndarray((rows, windows), dtype=dtype, buffer=nl.shared_hbm)
    first = []
    for index in range(windows):
        first.append((index * width) // windows)
    last = []
    for index in range(windows):
        last.append(((1 + index) * width + windows - 1) // windows)
    widths = []
    for index in range(windows):
        widths.append(last[index] - first[index])
    assert int(max(widths)) <= nl.tile_size.psum_fmax
    padded = nl.ndarray((rows, width), dtype=dtype, buffer=nl.sbuf)
    nisa.memset(dst=padded, value=smallest_of(dtype))
    nisa.dma_copy(dst=padded[0:rows, padding[0] : padding[0] + columns], src=x)
    result = nl.ndarray((rows, windows), dtype=dtype, buffer=nl.sbuf)
    for w in nl.static_range(windows):
        nisa.tensor_reduce(
            dst=result[0:rows, w : w + 1], op=nl.maximum, data=padded[0:rows, first[w] : last[w]], axis=1
        )
    nisa.dma_copy(dst=out, src=result)
    return out
