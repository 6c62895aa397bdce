"""What the kernel computes, by NumPy."""

import numpy as np


def group_sums(x):
    total = x.sum(axis=(1, 2))
    scaled = np.full_like(total, 3.0)
    scaled[:, :, 0] = total[:, :, 0] * 0.5
    return np.einsum("nmkpf,nmkpg->nmfg", x, x), total * scaled
