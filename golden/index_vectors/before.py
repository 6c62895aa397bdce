"""Contiguous subscripts written with arange and mgrid."""

from neuronxcc import nki
import neuronxcc.nki.language as nl


@nki.jit
def shifted_sum(x):
    """(P, 2 * F) gives (P, F): the left half plus the right half plus the middle."""
    rows, columns = x.shape
    half = columns // 2
    out = nl.ndarray((rows, half), dtype=x.dtype, buffer=nl.shared_hbm)

    # two vectors
    i_p = nl.arange(rows)[:, None]
    i_f = nl.arange(half)[None, :]
    left = nl.load(x[i_p, i_f])
    # a grid, unpacked
    j_p, j_f = nl.mgrid[0:rows, 0:half]
    right = nl.load(x[j_p, half + j_f])
    # a grid as an object
    grid = nl.mgrid[0:rows, 0:half]
    middle = nl.load(x[grid.p, half // 2 + grid.x])

    total = nl.ndarray((nl.par_dim(rows), half), dtype=x.dtype, buffer=nl.sbuf)
    total[i_p, i_f] = nl.add(left[grid.p, grid.x], right[j_p, j_f])
    total[grid.p, grid.x] = nl.add(total[i_p, i_f], middle[i_p, i_f])
    # a start that is not zero
    last = nl.arange(half - 1, half)[None, :]
    total[i_p, last] = nl.multiply(total[i_p, last], 2.0)
    nl.store(out[j_p, j_f], value=total[j_p, j_f])
    return out
