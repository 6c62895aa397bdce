import numpy as np


def row_statistics(x):
    highest = x.max(axis=1)
    powers = np.exp(x - highest[:, None])
    ranged = np.maximum(np.maximum(powers, 0.5) - 0.5, powers).max(axis=1)
    return np.stack([highest, x.min(axis=1), x.sum(axis=1), powers.sum(axis=1) + ranged], axis=1)
