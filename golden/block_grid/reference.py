import numpy as np


def opposite_sums(board):
    board = board.astype(np.float32)
    return 2 * board + board[::-1, ::-1] / 2
