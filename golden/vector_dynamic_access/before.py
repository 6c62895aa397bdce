"""Rows gathered by an index tile."""

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def gathered(table, rows):
    """(N, F) and (P, 1) give (P, F): the named rows of a table."""
    count = rows.shape[0]
    columns = table.shape[1]
    out = nl.ndarray((count, columns), dtype=table.dtype, buffer=nl.shared_hbm)
    index = nl.load(rows)
    i_p = nl.arange(count)[:, None]
    i_f = nl.arange(columns)[None, :]
    tile = nl.load(table[index[i_p, 0], i_f])
    nl.store(out[i_p, i_f], value=tile)
    return out
