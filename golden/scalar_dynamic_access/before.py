"""Rows from a place that is only known when the kernel runs."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def window(table, start):
    """(N, F) and (1, 1) give (32, F): the rows from ``start`` on."""
    columns = table.shape[1]
    out = nl.ndarray((32, columns), dtype=table.dtype, buffer=nl.shared_hbm)
    first = nl.load(start)
    i_p, i_f = nl.mgrid[0:32, 0:columns]
    nisa.dma_copy(dst=out[i_p, i_f], src=table[first[0, 0] + i_p, i_f])
    return out
