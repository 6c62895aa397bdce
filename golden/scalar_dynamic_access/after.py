"""Rows from a place that is only known when the kernel runs."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def window(table, start):
    """(N, F) and (1, 1) give (32, F): the rows from ``start`` on."""
    columns = table.shape[1]
    out = nl.ndarray((32, columns), dtype=table.dtype, buffer=nl.shared_hbm)
    assert len(start.shape) > 1, "rewritten for 2 dimensions at least"
    first = nl.load(start)
    assert len(table.shape) == 2, "rewritten for 2 dimensions"
    nisa.dma_copy(
        dst=out,
        src=table.ap(
            pattern=[[table.shape[1], 32], [1, columns]],
            scalar_offset=first[0:1, 0:1],
            indirect_dim=0,
        ),
    )
    return out
