import numpy as np


def shares(x, y):
    power = np.exp(x - x.max(axis=1, keepdims=True))
    weighted = power / power.sum(axis=1, keepdims=True) * y
    return np.clip(np.float32(1.5) - weighted, 1.0, 1.75)
