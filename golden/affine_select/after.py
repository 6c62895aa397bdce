"""Selections by the position of an element."""

import nki
import nki.isa as nisa
import nki.language as nl

WIDTH = 64


@nki.jit
def triangles(x, low):
    """(P, N) gives (2, P, N): ``low`` above the diagonal, and zero left of the line that falls two columns a row."""
    rows, columns = x.shape
    out = nl.ndarray((2, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    for c in nl.affine_range(columns // WIDTH):
        tile = nl.ndarray((rows, WIDTH), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[0:rows, nl.ds(c * WIDTH, WIDTH)])
        lower = nl.ndarray((rows, WIDTH), dtype=x.dtype, buffer=nl.sbuf)
        nisa.affine_select(
            dst=lower,
            pattern=[[-1, WIDTH]],
            offset=0 - c * WIDTH,
            channel_multiplier=1,
            on_true_tile=tile,
            on_false_value=low,
            cmp_op=nl.greater_equal,
        )
        nisa.dma_copy(dst=out[0, 0:rows, nl.ds(c * WIDTH, WIDTH)], src=lower)
        right = nl.ndarray((rows, WIDTH), dtype=x.dtype, buffer=nl.sbuf)
        nisa.affine_select(
            dst=right,
            pattern=[[1, WIDTH]],
            offset=c * WIDTH,
            channel_multiplier=-2,
            on_true_tile=tile,
            on_false_value=0.0,
            cmp_op=nl.greater,
        )
        nisa.dma_copy(dst=out[1, 0:rows, nl.ds(c * WIDTH, WIDTH)], src=right)
    return out
