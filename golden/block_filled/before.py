"""Sums over steps of the Gram matrices and of the rows of some groups."""

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def group_sums(x):
    """(N, M, K, P, F): over K, the products of columns of each of N x M tiles; over M and K, the tiles themselves."""
    n, m, k, p, f = x.shape
    grams = nl.ndarray((n, m, f, f), dtype=nl.float32, buffer=nl.shared_hbm)
    totals = nl.ndarray((n, p, f), dtype=nl.float32, buffer=nl.shared_hbm)
    # each block belongs to one iteration of two loops; its first matmul overwrites the zeros
    gram = nl.zeros((n, m, nl.par_dim(f), f), dtype=nl.float32, buffer=nl.psum)
    # all blocks are alive from the first loop to the last
    total = nl.zeros((n, nl.par_dim(p), f), dtype=nl.float32, buffer=nl.sbuf)
    for i in nl.affine_range(n):
        for j in nl.affine_range(m):
            for r in nl.affine_range(k):
                tile = nl.load(x[i, j, r])
                gram[i, j] += nl.matmul(tile, tile, transpose_x=True)
                total[i] = nl.add(total[i], tile)
            nl.store(grams[i, j], value=gram[i, j])
    # only its first column is written
    scaled = nl.full((n, nl.par_dim(p), f), 3.0, dtype=nl.float32, buffer=nl.sbuf)
    for i in nl.affine_range(n):
        scaled[i, 0:p, 0:1] = nl.multiply(total[i, 0:p, 0:1], 0.5)
        nl.store(totals[i], value=nl.multiply(total[i], scaled[i]))
    return grams, totals
