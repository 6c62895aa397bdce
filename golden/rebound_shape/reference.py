"""NumPy references of the kernels in before.py."""

import numpy as np


def pooled(x, w, pool=2):
    height, width = x.shape[1:]
    product = np.einsum("ko,khw->ohw", w, x)
    return product.reshape(128, height // pool, pool, width // pool, pool).max((2, 4))
