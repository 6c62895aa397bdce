"""NumPy references of the kernels in before.py."""

import numpy as np


def bordered(x):
    out = x.astype(np.float32)
    out[:, :30] *= 2
    out[:5, 4:20] = x[:5, 4:20].astype(np.float32) + 1
    return out
