"""A grid of blocks on fewer physical tiles, dimension by dimension."""

import nki
import nki.language as nl
import nki.isa as nisa


@nki.jit
def folded_rows(sheets):
    """(M, N, P, F): each block plus its right neighbour, the last one plus itself."""
    m, n, p, f = sheets.shape
    out = nl.ndarray((m, n, p, f), dtype=sheets.dtype, buffer=nl.shared_hbm)
    # outer blocks take turns on two rows of four tiles, whatever n is
    sheet = nl.ndarray((p, 2, 4, f), dtype=nl.float32, buffer=nl.sbuf, address=(0, 0))
    # all the outer blocks share one row of n tiles
    total = nl.ndarray((p, n, f), dtype=nl.float32, buffer=nl.sbuf, address=(0, 2 * 4 * f * 4))
    for i in nl.affine_range(m):
        for j in nl.affine_range(n):
            nisa.dma_copy(dst=sheet[:, i % 2, j % 4, :], src=sheets[i, j])
        for j in nl.affine_range(n - 1):
            nisa.tensor_tensor(
                dst=total[:, j, :],
                data1=sheet[:, i % 2, j % 4, :],
                data2=sheet[:, i % 2, (j + 1) % 4, :],
                op=nl.add,
            )
        nisa.tensor_tensor(
            dst=total[:, n - 1, :],
            data1=sheet[:, i % 2, (n - 1) % 4, :],
            data2=sheet[:, i % 2, (n - 1) % 4, :],
            op=nl.add,
        )
        for j in nl.affine_range(n):
            nisa.dma_copy(dst=out[i, j], src=total[:, j, :])
    return out
