"""A matrix with a border of zeros, cut to a number of rows."""

import nki
import nki.language as nl
import nki.isa as nisa


@nki.jit
def bordered(x, border, rows):
    """x (H, W) gives (rows, W + 2 * border): row r is row r - border of x, column c is column c - border."""
    height, width = x.shape
    wide = width + 2 * border
    out = nl.ndarray((rows, wide), dtype=x.dtype, buffer=nl.shared_hbm)
    j_size = min(wide, width + border)
    j_start = max(0, border)
    j_size_2 = j_size - j_start
    j_start_2 = max(0, wide - 3)
    j_size_3 = wide - j_start_2
    for t in nl.affine_range((rows + 31) // 32):
        tile = nl.zeros((32, wide), dtype=x.dtype, buffer=nl.sbuf)
        i_size = min(32, height - (t * 32 - border))
        i_start = max(0, -(t * 32 - border))
        i_size_2 = i_size - i_start
        if i_size_2 > 0 and j_size_2 > 0:
            nisa.dma_copy(
                dst=tile[nl.ds(i_start, i_size_2), nl.ds(j_start, j_size_2)],
                src=x[nl.ds(t * 32 - border + i_start, i_size_2), nl.ds(j_start - border, j_size_2)],
            )
        if j_size_3 > 0:
            nisa.tensor_scalar(
                dst=tile[:, nl.ds(j_start_2, j_size_3)],
                data=tile[:, nl.ds(j_start_2, j_size_3)],
                op0=nl.multiply,
                operand0=2.0,
            )
        i_size_3 = min(32, rows - t * 32)
        nisa.dma_copy(dst=out[nl.ds(t * 32, i_size_3), :], src=tile[0:i_size_3, :])
    return out
