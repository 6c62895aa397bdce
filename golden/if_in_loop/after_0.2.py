"""A condition on the loop variable."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def differences(x):
    """(T, P, F): the first tile as it is, every other minus the one before it."""
    tiles, rows, columns = x.shape
    out = nl.ndarray((tiles, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    previous = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    for t in nl.sequential_range(tiles):
        tile = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[t])
        if t == 0:
            nisa.dma_copy(dst=out[t], src=tile)
        else:
            step = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
            nisa.tensor_tensor(dst=step, data1=tile, data2=previous, op=nl.subtract)
            nisa.dma_copy(dst=out[t], src=step)
        nisa.tensor_copy(dst=previous, src=tile)
    return out
