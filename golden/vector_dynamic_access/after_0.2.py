"""Rows gathered by an index tile."""

import nki
import nki.language as nl
import nki.isa as nisa


@nki.jit
def gathered(table, rows):
    """(N, F) and (P, 1) give (P, F): the named rows of a table."""
    count = rows.shape[0]
    columns = table.shape[1]
    out = nl.ndarray((count, columns), dtype=table.dtype, buffer=nl.shared_hbm)
    assert len(rows.shape) > 1, "rewritten for 2 dimensions at least"
    index = nl.ndarray(rows.shape, dtype=rows.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=index, src=rows)
    assert len(table.shape) == 2, "rewritten for 2 dimensions"
    tile = nl.ndarray((count, columns), dtype=table.dtype, buffer=nl.sbuf)
    nisa.dma_copy(
        dst=tile,
        src=table.ap(
            pattern=[[table.shape[1], count], [1, columns]],
            vector_offset=index[0:count, 0:1],
            indirect_dim=0,
        ),
    )
    nisa.dma_copy(dst=out, src=tile)
    return out
