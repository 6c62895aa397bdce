"""NumPy references of the kernels in before.py."""

import numpy as np


def windowed(x, window=16, behind=False):
    row, column = 64 + np.arange(128)[:, None], np.arange(512)[None, :]
    last, first = (row + window, row + 1) if behind else (row, row - window + 1)
    return np.where(column < first, -2.0, np.where(column > last, -1.0, x.astype(np.float32)))
