"""A vector in strips of a number of rows times a width that the source sets to 1, as generators of kernels write it."""

import nki
import nki.language as nl
import nki.isa as nisa


@nki.jit
def doubled(x):
    """(N,): twice x."""
    ROWS, WIDTH = 128, 1
    STRIP = ROWS * WIDTH
    (length,) = x.shape
    out = nl.ndarray((length,), dtype=x.dtype, buffer=nl.shared_hbm)
    for strip in nl.affine_range((length + STRIP - 1) // STRIP):
        i_p_size = min(ROWS, length - strip * STRIP)
        tile = nl.ndarray((ROWS, 1), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile[0:i_p_size, :], src=x[nl.ds(strip * STRIP, i_p_size)])
        tile_scaled = nl.ndarray((ROWS, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=tile_scaled[0:i_p_size, :], data=tile[0:i_p_size, :], op0=nl.multiply, operand0=2.0)
        nisa.dma_copy(dst=out[nl.ds(strip * STRIP, i_p_size)], src=tile_scaled[0:i_p_size, :])
    return out
