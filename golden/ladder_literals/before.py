"""Rows that are larger than a bound, counted; written for a compiler that took names and numbers for anything."""

import nki
import nki.isa as nisa
import nki.language as nl


def kept_in_hbm(tile, rows, columns):
    """A copy of a tile in memory of this core."""
    scratch = nl.ndarray((rows, columns), dtype=nl.float32, buffer="private_hbm")
    nisa.dma_copy(dst=scratch, src=tile, dge_mode=3)
    return scratch


@nki.jit
def counted(x, bound=0.0):
    """(P, F) gives (P, 1): one more than the number of elements of a row that are above a bound."""
    rows, columns = x.shape
    out = nl.ndarray((rows, 1), dtype=nl.int32, buffer=nl.hbm)
    tile = nl.ndarray((nl.par_dim(rows), columns), dtype=nl.float32, buffer="sbuf")
    nisa.dma_copy(dst=tile, src=x, dge_mode=0, engine=nisa.dma_engine)
    again = nl.ndarray((rows, columns), dtype=nl.float32, buffer=sbuf)
    nisa.dma_copy(dst=again, src=kept_in_hbm(tile, rows, columns))
    above = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=above, data=again, op0=nl.greater, operand0=bound, engine=5)
    one = nl.ndarray((rows, 1), dtype=nl.int32, buffer=nl.sbuf)
    nisa.memset(dst=one, value=1.0)
    count = nl.ndarray((rows, 1), dtype=nl.int32, buffer=nl.sbuf)
    nisa.tensor_reduce(dst=count, op=nl.add, data=above, axis=1)
    nisa.tensor_tensor(dst=count, data1=count, data2=one, op=nl.add)
    nisa.dma_copy(dst=out, src=count)
    return out
