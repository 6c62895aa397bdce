import numpy as np


def weighted_rows(x, w):
    numerators = np.exp(x - x.max(axis=2, keepdims=True))
    return np.matmul(numerators, w[0]) * np.float32(0.5) / numerators.sum(axis=2, keepdims=True)
