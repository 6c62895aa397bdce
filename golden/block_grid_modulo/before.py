"""A grid of blocks on fewer physical tiles, dimension by dimension."""

from neuronxcc import nki
import neuronxcc.nki.compiler as ncc
import neuronxcc.nki.language as nl
from neuronxcc.nki.language import par_dim


@nki.jit
def folded_rows(sheets):
    """(M, N, P, F): each block plus its right neighbour, the last one plus itself."""
    m, n, p, f = sheets.shape
    out = nl.ndarray((m, n, p, f), dtype=sheets.dtype, buffer=nl.shared_hbm)
    # outer blocks take turns on two rows of four tiles, whatever n is
    sheet = nl.ndarray((m, n, par_dim(p), f), dtype=nl.float32,
                       buffer=ncc.sbuf.mod_alloc(base_addr=0, num_free_tiles=(2, 4)))
    # all the outer blocks share one row of n tiles
    total = nl.ndarray((m, n, par_dim(p), f), dtype=nl.float32,
                       buffer=ncc.sbuf.mod_alloc(base_addr=2 * 4 * f * 4, num_free_tiles=(1, n)))
    for i in nl.affine_range(m):
        for j in nl.affine_range(n):
            sheet[i, j] = nl.load(sheets[i, j])
        for j in nl.affine_range(n - 1):
            total[i, j] = nl.add(sheet[i, j], sheet[i, j + 1])
        total[i, n - 1] = nl.add(sheet[i, n - 1], sheet[i, n - 1])
        for j in nl.affine_range(n):
            nl.store(out[i, j], value=total[i, j])
    return out
