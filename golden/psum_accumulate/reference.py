import numpy as np


def long_product(a, b):
    a, b = a.astype(np.float64), b.astype(np.float64)
    backwards = b.reshape(-1, 128, b.shape[1])[::-1].reshape(b.shape)
    return np.stack([a.T @ b, a.T @ backwards / 2]).astype(np.float32)
