"""A tensor that is no multiple of the tile, in tiles of 128 x 256."""

from neuronxcc import nki
import neuronxcc.nki.language as nl

ROWS, COLUMNS = 128, 256


@nki.jit
def negated(x):
    """(M, N) with the sign changed."""
    m, n = x.shape
    out = nl.ndarray((m, n), dtype=x.dtype, buffer=nl.shared_hbm)
    i_p = nl.arange(ROWS)[:, None]
    i_f = nl.arange(COLUMNS)[None, :]
    for r in nl.affine_range((m + ROWS - 1) // ROWS):
        for c in nl.affine_range((n + COLUMNS - 1) // COLUMNS):
            inside = (r * ROWS + i_p < m) & (c * COLUMNS + i_f < n)
            tile = nl.load(x[r * ROWS + i_p, c * COLUMNS + i_f], mask=inside)
            result = nl.multiply(tile, -1.0, mask=inside)
            nl.store(out[r * ROWS + i_p, c * COLUMNS + i_f], value=result, mask=inside)
    return out
