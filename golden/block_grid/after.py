"""Sums of a board's squares with the squares opposite to them."""

import nki
import nki.language as nl
import nki.isa as nisa


@nki.jit
def opposite_sums(board):
    """(M, N, P, F): out[i, j] is twice the square plus half of the square at the other end of the board."""
    m, n, p, f = board.shape
    out = nl.ndarray((m, n, p, f), dtype=board.dtype, buffer=nl.shared_hbm)
    square = []
    for i in range(m):
        square.append([])
        for j in range(n):
            square[i].append(nl.ndarray((p, f), dtype=board.dtype, buffer=nl.sbuf))
    scaled = []
    for i in range(m):
        scaled.append([])
        for j in range(n):
            scaled[i].append([])
            for block in range(2):
                scaled[i][j].append(nl.ndarray((p, f), dtype=board.dtype, buffer=nl.sbuf))
    for i in nl.affine_range(m):
        for j in nl.affine_range(n):
            nisa.dma_copy(dst=square[i][j], src=board[i, j])
            nisa.tensor_scalar(dst=scaled[i][j][0], data=square[i][j], op0=nl.multiply, operand0=2.0)
            nisa.tensor_scalar(dst=scaled[i][j][1], data=square[i][j], op0=nl.multiply, operand0=0.5)
    for i in nl.affine_range(m):
        for j in nl.affine_range(n):
            total = nl.add(scaled[i][j][0], scaled[m - 1 - i][n - 1 - j][1])
            nl.store(out[i, j], value=total)
    return out
