"""Sums over steps of the Gram matrices and of the rows of some groups."""

import nki
import nki.language as nl
import nki.isa as nisa


@nki.jit
def group_sums(x):
    """(N, M, K, P, F): over K, the products of columns of each of N x M tiles; over M and K, the tiles themselves."""
    n, m, k, p, f = x.shape
    grams = nl.ndarray((n, m, f, f), dtype=nl.float32, buffer=nl.shared_hbm)
    totals = nl.ndarray((n, p, f), dtype=nl.float32, buffer=nl.shared_hbm)
    # all blocks are alive from the first loop to the last
    total = nl.zeros((p, n, f), dtype=nl.float32, buffer=nl.sbuf)
    for i in nl.affine_range(n):
        for j in nl.affine_range(m):
            # each block belongs to one iteration of two loops; its first matmul overwrites the zeros
            gram = nl.ndarray((f, f), dtype=nl.float32, buffer=nl.psum)
            for r in nl.affine_range(k):
                tile = nl.load(x[i, j, r])
                nisa.nc_matmul(dst=gram, stationary=tile, moving=tile)
                nisa.tensor_tensor(dst=total[:, i, :], data1=total[:, i, :], data2=tile, op=nl.add)
            gram_sbuf = nl.ndarray((f, f), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_copy(dst=gram_sbuf, src=gram)
            nl.store(grams[i, j], value=gram_sbuf)
    # only its first column is written
    for i in nl.affine_range(n):
        scaled = nl.ndarray((p, f), dtype=nl.float32, buffer=nl.sbuf)
        nisa.memset(dst=scaled, value=3.0)
        nisa.tensor_scalar(dst=scaled[0:p, 0:1], data=total[0:p, i, 0:1], op0=nl.multiply, operand0=0.5)
        multiply_tile = nl.ndarray((p, f), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=multiply_tile, data1=total[:, i, :], data2=scaled, op=nl.multiply)
        nl.store(totals[i], value=multiply_tile)
    return grams, totals
