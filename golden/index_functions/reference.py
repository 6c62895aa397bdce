"""What the kernel computes."""

import numpy as np


def halves(x):
    half = x.shape[1] // 2
    return np.concatenate([x[:, half:] + x[:, half:], x[:, :half]], axis=1)
