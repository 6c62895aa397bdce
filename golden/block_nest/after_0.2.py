"""Gram matrices of the squares of a board, and its first column."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def grams(board):
    """(M, N, P, F): for each square the products of its columns; of the first column of squares the squares, too."""
    m, n, p, f = board.shape
    out = nl.ndarray((m, n, f, f), dtype=nl.float32, buffer=nl.shared_hbm)
    first = nl.ndarray((m, p, f), dtype=board.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(m):
        for j in nl.affine_range(n):
            square = nl.ndarray((p, f), dtype=board.dtype, buffer=nl.sbuf)
            gram = nl.ndarray((f, f), dtype=nl.float32, buffer=nl.psum)
            nisa.dma_copy(dst=square, src=board[i, j])
            nisa.nc_matmul(dst=gram, stationary=square, moving=square)
            gram_sbuf = nl.ndarray((f, f), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_copy(dst=gram_sbuf, src=gram)
            nisa.dma_copy(dst=out[i, j], src=gram_sbuf)
    # the outer variable has the name of another loop's
    for i in nl.affine_range(m):
        column = nl.ndarray((p, f), dtype=board.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=column, src=board[i, 0])
        nisa.dma_copy(dst=first[i], src=column)
    return out, first
