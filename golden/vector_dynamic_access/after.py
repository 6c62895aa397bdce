"""Rows gathered by an index tile."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def gathered(table, rows):
    """(N, F) and (P, 1) give (P, F): the named rows of a table."""
    count = rows.shape[0]
    columns = table.shape[1]
    out = nl.ndarray((count, columns), dtype=table.dtype, buffer=nl.shared_hbm)
    index = nl.ndarray(rows.shape, dtype=rows.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=index, src=rows)
    tile = nl.ndarray((count, columns), dtype=table.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile,
                  src=table.ap([[columns, count], [1, columns]], offset=0, vector_offset=index, indirect_dim=0))
    nisa.dma_copy(dst=out[0:count, 0:columns], src=tile)
    return out
