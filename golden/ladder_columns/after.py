"""A column of a tile that a function gets, which has one dimension up to 0.4, and two since 0.5."""

import nki
import nki.isa as nisa
import nki.language as nl


def doubled(dst, column):
    """Twice a column."""
    nisa.tensor_scalar(dst=dst, data=column, op0=nl.multiply, operand0=2.0)


@nki.jit
def last_column(x):
    """(P, F) float32 gives (P, 1): twice the last column."""
    rows, columns = x.shape
    out = nl.ndarray((rows, 1), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((rows, columns), dtype=nl.float32, buffer=nl.sbuf)
    found = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    doubled(found, tile[:, columns - 1])
    nisa.dma_copy(dst=out, src=found)
    return out
