import numpy as np


def row_sums(x):
    return x.astype(np.float64).sum(axis=1, keepdims=True).astype(np.float32)
