"""Columns of a range, the rest as small as can be; written for a compiler that ignored two arguments."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def ranged(x, low, high):
    """(P, F) and bounds (P, 1) give (P, F + 1): the columns from low to high, and their maximum."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns + 1), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    first = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=first, src=low)
    last = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=last, src=high)
    kept = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    largest = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.range_select(
        dst=kept,
        on_true_tile=tile,
        comp_op0=nl.greater_equal,
        comp_op1=nl.less,
        bound0=first,
        bound1=last,
        reduce_cmd=nisa.reduce_cmd.idle,
        reduce_res=largest,
        reduce_op=nl.maximum,
        range_start=0,
        on_false_value=0.0,
    )
    nisa.dma_copy(dst=out[0:rows, 0:columns], src=kept)
    nisa.dma_copy(dst=out[0:rows, columns : columns + 1], src=largest)
    return out
