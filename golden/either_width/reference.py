"""NumPy references of the kernels in before.py."""

import numpy as np


def weighted(x, each=False):
    return (np.exp(x) if each else x[:, :1]) - x


def outer(x, y):
    return np.stack([y.T, x @ y.T])
