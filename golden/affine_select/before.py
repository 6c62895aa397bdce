"""Selections by the position of an element."""

from neuronxcc import nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl

WIDTH = 64


@nki.jit
def triangles(x, low):
    """(P, N) gives (2, P, N): ``low`` above the diagonal, and zero left of the line that falls two columns a row."""
    rows, columns = x.shape
    out = nl.ndarray((2, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    i_p = nl.arange(rows)[:, None]
    i_f = nl.arange(WIDTH)[None, :]
    for c in nl.affine_range(columns // WIDTH):
        tile = nl.load(x[i_p, c * WIDTH + i_f])
        lower = nl.ndarray((nl.par_dim(rows), WIDTH), dtype=x.dtype, buffer=nl.sbuf)
        lower[i_p, i_f] = nisa.affine_select(
            pred=(i_p >= c * WIDTH + i_f), on_true_tile=tile[i_p, i_f], on_false_value=low, dtype=x.dtype)
        nl.store(out[0, i_p, c * WIDTH + i_f], value=lower)
        right = nisa.affine_select(c * WIDTH + i_f > 2 * i_p, tile, 0.0)
        nl.store(out[1, i_p, c * WIDTH + i_f], value=right)
    return out
