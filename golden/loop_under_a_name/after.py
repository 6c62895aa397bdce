"""Loops whose function has a name, and is chosen by a condition: Beta 1 traced the body once on both of its sides."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def running_peaks(x, ordered=True):
    """(T, P, F) gives (T, P, 1): the largest element of each row times 2, however many tiles there are."""
    tiles, rows, columns = x.shape
    out = nl.ndarray((tiles, rows, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    passes = nl.sequential_range if ordered else nl.affine_range
    factor = 1
    address = 0
    factor_before_loop = factor
    address_before_loop = address
    for t in passes(tiles):
        factor = factor_before_loop
        address = address_before_loop
        factor += 1
        tile = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf, address=(0, address))
        address += columns * 4
        peak = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf, address=(0, address))
        address += 4
        nisa.dma_copy(dst=tile, src=x[t])
        nisa.tensor_reduce(dst=peak, op=nl.maximum, data=tile, axis=1)
        nisa.tensor_scalar(dst=peak, data=peak, op0=nl.multiply, operand0=float(factor))
        nl.store(out[t], value=peak)
    return out
