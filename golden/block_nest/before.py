"""Gram matrices of the squares of a board, and its first column."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def grams(board):
    """(M, N, P, F): for each square the products of its columns; of the first column of squares the squares, too."""
    m, n, p, f = board.shape
    out = nl.ndarray((m, n, f, f), dtype=nl.float32, buffer=nl.shared_hbm)
    first = nl.ndarray((m, p, f), dtype=board.dtype, buffer=nl.shared_hbm)
    square = nl.ndarray((m, n, nl.par_dim(p), f), dtype=board.dtype, buffer=nl.sbuf)
    gram = nl.ndarray((n, m, nl.par_dim(f), f), dtype=nl.float32, buffer=nl.psum)
    for i in nl.affine_range(m):
        for j in nl.affine_range(n):
            square[i, j] = nl.load(board[i, j])
            gram[j, i] = nisa.nc_matmul(square[i, j], square[i, j])
            nl.store(out[i, j], value=gram[j, i])
    # the outer variable has the name of another loop's
    column = nl.ndarray((m, nl.par_dim(p), f), dtype=board.dtype, buffer=nl.sbuf)
    for i in nl.affine_range(m):
        column[i] = nl.load(board[i, 0])
        nl.store(first[i], value=column[i])
    return out, first
