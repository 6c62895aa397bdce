"""A mask that covers the dimension that is reduced."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def first_maxima(x, count):
    """(P, F) gives (P, 1): the largest of the first ``count`` elements of each row."""
    rows, columns = x.shape
    out = nl.ndarray((rows, 1), dtype=x.dtype, buffer=nl.shared_hbm)
    i_p = nl.arange(rows)[:, None]
    i_f = nl.arange(columns)[None, :]
    tile = nl.load(x[i_p, i_f], mask=(i_f < count))
    highest = nl.ndarray((nl.par_dim(rows), 1), dtype=x.dtype, buffer=nl.sbuf)
    highest[...] = nisa.tensor_reduce(nl.maximum, data=tile[i_p, i_f], axis=1, mask=(i_f < count))
    nl.store(out, value=highest)
    return out
