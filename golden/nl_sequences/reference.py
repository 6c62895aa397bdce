"""NumPy: what gated computes."""

import numpy as np


def gated(x, y):
    product = x @ y.T
    return np.where(product > 0, product, -1.0), x.mean(axis=1, keepdims=True), y
