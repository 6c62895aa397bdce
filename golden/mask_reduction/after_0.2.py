"""A mask that covers the dimension that is reduced."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def first_maxima(x, count):
    """(P, F) gives (P, 1): the largest of the first ``count`` elements of each row."""
    rows, columns = x.shape
    out = nl.ndarray((rows, 1), dtype=x.dtype, buffer=nl.shared_hbm)
    i_f_size = min(columns, count)
    tile = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    highest = nl.ndarray((rows, 1), dtype=x.dtype, buffer=nl.sbuf)
    if i_f_size > 0:
        nisa.dma_copy(dst=tile[:, 0:i_f_size], src=x[:, 0:i_f_size])
        nisa.tensor_reduce(dst=highest, op=nl.maximum, data=tile[:, 0:i_f_size], axis=1)
    nisa.dma_copy(dst=out, src=highest)
    return out
