"""A tensor that is no multiple of the tile, in tiles of 128 x 256."""

import nki
import nki.language as nl
import nki.isa as nisa

ROWS, COLUMNS = 128, 256


@nki.jit
def negated(x):
    """(M, N) with the sign changed."""
    m, n = x.shape
    out = nl.ndarray((m, n), dtype=x.dtype, buffer=nl.shared_hbm)
    for r in nl.affine_range((m + ROWS - 1) // ROWS):
        i_p_size = min(ROWS, m - r * ROWS)
        for c in nl.affine_range((n + COLUMNS - 1) // COLUMNS):
            i_f_size = min(COLUMNS, n - c * COLUMNS)
            tile = nl.ndarray((ROWS, COLUMNS), dtype=x.dtype, buffer=nl.sbuf)
            nisa.dma_copy(
                dst=tile[0:i_p_size, 0:i_f_size],
                src=x[nl.ds(r * ROWS, i_p_size), nl.ds(c * COLUMNS, i_f_size)],
            )
            result = nl.ndarray((ROWS, COLUMNS), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_scalar(
                dst=result[0:i_p_size, 0:i_f_size],
                data=tile[0:i_p_size, 0:i_f_size],
                op0=nl.multiply,
                operand0=-1.0,
            )
            nisa.dma_copy(
                dst=out[nl.ds(r * ROWS, i_p_size), nl.ds(c * COLUMNS, i_f_size)],
                src=result[0:i_p_size, 0:i_f_size],
            )
    return out
