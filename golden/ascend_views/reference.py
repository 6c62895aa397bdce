"""The same in NumPy."""

import numpy as np


def flatten(A, B):
    out = np.array(A)
    out[:, 0] += np.float32(1.0)
    return out
