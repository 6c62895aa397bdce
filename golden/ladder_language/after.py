"""Columns in an order that a list names, with options behind a star."""

import nki
import nki.isa as nisa
import nki.language as nl


def scaled(tile, factor=None):
    """The tile times a factor, in place."""
    if factor is not None:
        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=factor)


@nki.jit
def permuted(x, order=(1, 0), doubled: bool = True):
    """(P, F) gives (P, len(order)): the columns in an order."""
    rows, columns = x.shape
    out = nl.ndarray((rows, len(order)), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    if doubled == True:
        scaled(tile, factor=2.0)
    for i in range(len(order)):
        nisa.dma_copy(dst=out[0:rows, i : i + 1], src=tile[0:rows, order[i] : order[i] + 1])
    return out


def backwards(x):
    """Four columns, the last one first."""
    return permuted(x, order=(3, 2, 1, 0))
