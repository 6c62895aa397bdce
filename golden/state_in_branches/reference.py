import numpy as np


def chosen(x):
    factors = np.full((len(x), 1, 1), 2, np.float32)
    factors[0] = 1
    return x * factors
