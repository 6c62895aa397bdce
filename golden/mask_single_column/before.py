"""A vector in strips of a number of rows times a width that the source sets to 1, as generators of kernels write it."""

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def doubled(x):
    """(N,): twice x."""
    ROWS, WIDTH = 128, 1
    STRIP = ROWS * WIDTH
    (length,) = x.shape
    out = nl.ndarray((length,), dtype=x.dtype, buffer=nl.shared_hbm)
    for strip in nl.affine_range((length + STRIP - 1) // STRIP):
        i_p, i_f = nl.mgrid[0:ROWS, 0:WIDTH]
        position = strip * STRIP + i_p * WIDTH + i_f
        tile = nl.load(x[position], mask=position < length)
        nl.store(out[position], value=nl.multiply(tile, 2.0, mask=position < length), mask=position < length)
    return out
