"""Sums of a board's squares with the squares opposite to them."""

from neuronxcc import nki
import neuronxcc.nki.language as nl


@nki.jit
def opposite_sums(board):
    """(M, N, P, F): out[i, j] is twice the square plus half of the square at the other end of the board."""
    m, n, p, f = board.shape
    out = nl.ndarray((m, n, p, f), dtype=board.dtype, buffer=nl.shared_hbm)
    square = nl.ndarray((m, n, nl.par_dim(p), f), dtype=board.dtype, buffer=nl.sbuf)
    scaled = nl.ndarray((m, n, 2, nl.par_dim(p), f), dtype=board.dtype, buffer=nl.sbuf)
    for i in nl.affine_range(m):
        for j in nl.affine_range(n):
            square[i, j] = nl.load(board[i, j])
            scaled[i, j, 0] = nl.multiply(square[i, j], 2.0)
            scaled[i, j, 1, 0:p, 0:f] = nl.multiply(square[i, j, 0:p, 0:f], 0.5)
    for i in nl.affine_range(m):
        for j in nl.affine_range(n):
            total = nl.add(scaled[i, j, 0], scaled[m - 1 - i, n - 1 - j, 1])
            nl.store(out[i, j], value=total)
    return out
