"""Maxima of the planes of a tile, of the whole tile, and of what a helper gets."""

import nki
import nki.isa as nisa
import nki.language as nl


def last_sums(tile, sums):
    """The sums over the last dimension, whatever the rank."""
    nisa.tensor_reduce(dst=sums, op=nl.add, data=tile, axis=len(tile.shape) - 1)


@nki.jit
def planes(x):
    """(P, A, B) gives (P, A + 2): the maximum of each plane, of all planes, and the sum of the maxima."""
    rows, count, columns = x.shape
    out = nl.ndarray((rows, count + 2), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((rows, count, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    each = nl.ndarray((rows, count), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_reduce(dst=each, op=nl.maximum, data=tile, axis=2)
    whole = nl.ndarray((rows, 1), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_reduce(dst=whole, op=nl.maximum, data=tile[0:rows, 0:count, 0:columns], axis=[1, 2])
    total = nl.ndarray((rows, 1), dtype=x.dtype, buffer=nl.sbuf)
    last_sums(each, total)
    folded = nl.ndarray((rows, 1, count), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_copy(dst=folded, src=each)
    again = nl.ndarray((rows, 1), dtype=x.dtype, buffer=nl.sbuf)
    last_sums(folded, again)
    nisa.tensor_tensor(dst=total, data1=total, data2=again, op=nl.maximum)
    nisa.dma_copy(dst=out[0:rows, 0:count], src=each)
    nisa.dma_copy(dst=out[0:rows, count : count + 1], src=whole)
    nisa.dma_copy(dst=out[0:rows, count + 1 : count + 2], src=total)
    return out
